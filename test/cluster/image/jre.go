package image

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// jreParts are what of the Java layer runs a program outside of a container. The
// C library is among them: that of the machine may be older.
var jreParts = []string{"./usr/lib/jvm", "./etc/java-21-openjdk", "./etc/ssl/certs/java"}

// jreLoader starts Java with the C library that it was built for.
const jreLoader = `#!/bin/sh
root=$(dirname "$(dirname "$(readlink -f "$0")")")/root
libs=$(echo "$root"/usr/lib/*-linux-gnu*)
java=$(echo "$root"/usr/lib/jvm/java-21-openjdk-*)
exec "$libs"/ld-linux-*.so.* --library-path "$libs:$java/lib:$java/lib/server" "$java/bin/java" "$@"
`

// jre is the Java of the images for use without a container: a machine may have
// none that is new enough.
//
//	bin/java  starts it
//	release   says which it is
//	root/     what it needs
func (b Builder) jre(ctx context.Context, home string) error {
	layer, err := b.javaLayer(ctx)
	if err != nil {
		return err
	}
	key := keyOf(append([]string{javaSuite, javaPackages, jreLoader}, jreParts...)...)
	return once(home, key, func(dir string) error {
		b.Say("unpacking Java")
		root := filepath.Join(dir, "root")
		if err := os.Mkdir(root, 0o755); err != nil {
			return err
		}
		unpack := append([]string{"tar", "-xf", layer.File, "--wildcards", "./usr/lib/*-linux-gnu*/*.so*"}, jreParts...)
		if err := command(ctx, root, nil, unpack...); err != nil {
			return err
		}
		if err := relink(root); err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(root, "usr", "lib", "jvm", "java-21-openjdk-*", "release"))
		if err != nil {
			return err
		}
		if len(found) != 1 {
			return fmt.Errorf("%d Javas in %s: one is wanted", len(found), layer.File)
		}
		if err := copyTo(dir, found[0]); err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "bin", "java"), []byte(jreLoader), 0o755)
	})
}

// relink makes links below root that name a place from / on stay below root.
func relink(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		target, err := os.Readlink(path)
		if err != nil || !strings.HasPrefix(target, "/") {
			return err
		}
		target, err = filepath.Rel(filepath.Dir(path), filepath.Join(root, target))
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		return os.Symlink(target, path)
	})
}
