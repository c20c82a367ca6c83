package image

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// debian writes a small Debian with these packages, separated by commas, and without the paths. The hook, unless it is empty,
// is run at the end with the root as its argument. What was made is checked before it counts as made.
func (b Builder) debian(ctx context.Context, w io.Writer, suite, packages string, without []string, hook string, check func(root string) error) error {
	tmp, err := os.MkdirTemp(b.Cache, "debian-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	file := filepath.Join(tmp, "root.tar") // mmdebstrap learns the format from the name
	argv := []string{"mmdebstrap", "--mode=root", "--variant=essential", "--include=" + packages,
		`--aptopt=Acquire::Check-Valid-Until "false"`, `--aptopt=Acquire::Check-Date "false"`}
	for _, path := range without {
		argv = append(argv, "--dpkgopt=path-exclude="+path)
	}
	if hook != "" {
		argv = append(argv, "--customize-hook="+hook)
	}
	if err := command(ctx, tmp, []string{"SOURCE_DATE_EPOCH=1735689600"}, append(argv, suite, file)...); err != nil {
		return err
	}
	if check != nil {
		if err := check(file); err != nil {
			return err
		}
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// packageVersion says which version of a package is in a Debian, as upstream numbers it.
func packageVersion(ctx context.Context, root, name string) (string, error) {
	const status = "./var/lib/dpkg/status"
	out, err := exec.CommandContext(ctx, "tar", "-xOf", root, status).Output()
	if err != nil {
		return "", fmt.Errorf("read %s of %s: %w", status, root, err)
	}
	for paragraph := range strings.SplitSeq(string(out), "\n\n") {
		version, here := "", false
		for line := range strings.Lines(paragraph) {
			line = strings.TrimSpace(line)
			here = here || line == "Package: "+name
			if v, ok := strings.CutPrefix(line, "Version: "); ok {
				version = v
			}
		}
		if here && version != "" {
			return upstream(version), nil
		}
	}
	return "", fmt.Errorf("there is no %s in %s", name, root)
}

// upstream is a version without Debian's own parts: 10.11.19 of 1:10.11.19-0+deb12u1.
func upstream(version string) string {
	if _, after, ok := strings.Cut(version, ":"); ok {
		version = after
	}
	version, _, _ = strings.Cut(version, "-")
	return version
}
