package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
	"github.com/rollcall-dev/rollcall/test/cluster/host"
)

// MySQLName and MariaDBName are the images. Debian has one version of each at a time, so that the tags 1 and 2 hold the same:
// a change from one to the other restarts, and upgrades nothing.
const (
	MySQLName   = "docker.io/rollcall-test/mysql"
	MariaDBName = "docker.io/rollcall-test/mariadb"
)

var sqlTags = []string{"1", "2"}

const sqlUser = "999" // as in the official images

// sqlServer is MySQL or MariaDB from Debian.
type sqlServer struct {
	name  string // of archive, layer and home
	title string
	image string
	suite string
	// Packages, the one with the server first.
	packages []string
	// Oldest major and minor version that will do: sid moves on, and never back.
	oldest [2]int
	// Without these paths of the packages.
	without []string
	// Of this package only these paths: it would bring what nothing here needs.
	only packageParts
	// Programs that a home has, scripts that call these, and what else of the root they need.
	programs []string
	scripts  []string
	parts    []string
	tools    []host.Tool // of this machine, that a home uses
}

// packageParts are some files of a package that is not installed.
type packageParts struct {
	name  string
	paths []string
}

var mysqlServer = sqlServer{
	name: "mysql", title: "MySQL", image: MySQLName, suite: "sid",
	packages: []string{"mysql-server-core", "mysql-client-core"}, oldest: [2]int{8, 4},
	without: []string{
		"/usr/bin/myisam*", "/usr/bin/mysql_*", "/usr/bin/mysqlslap", "/usr/bin/mysqlimport", "/usr/bin/mysqlshow", "/usr/bin/mysqlcheck",
		"/usr/bin/ibd2sdi", "/usr/bin/innochecksum", "/usr/bin/perror",
		"/usr/lib/mysql/plugin/authentication_*", "/usr/lib/mysql/plugin/*telemetry*",
	},
	programs: []string{"mysqld", "mysql", "mysqladmin"},
	parts:    []string{"./usr/sbin/mysqld", "./usr/bin/mysql", "./usr/bin/mysqladmin", "./usr/lib/mysql", "./usr/share/mysql"},
}

var mariadbServer = sqlServer{
	name: "mariadb", title: "MariaDB", image: MariaDBName, suite: "bookworm",
	packages: []string{
		"mariadb-server-core", "mariadb-client-core",
		"galera-4", "galera-arbitrator-4", "mariadb-backup", "rsync", "lsof", "procps", "socat", // a member of Galera, and state transfers
	},
	oldest:   [2]int{10, 11},
	only:     packageParts{"mariadb-server", []string{"./usr/bin/wsrep_sst_*"}},
	programs: slices.Concat(mariadbPrograms, []string{"garbd"}),
	scripts:  []string{"wsrep_sst_common", "wsrep_sst_rsync"},
	parts: slices.Concat(mariadbParts, []string{
		"./usr/bin/garbd", "./usr/bin/wsrep_sst_*", "./usr/lib/libgalera_smm.so", "./usr/share/mysql",
	}),
	// A state transfer looks for processes with these names, so a home uses this machine's.
	tools: []host.Tool{{Program: "rsync", Package: "rsync"}, {Program: "lsof", Package: "lsof"}},
}

var (
	mariadbPrograms = []string{"mariadbd", "mariadb", "mariadb-install-db", "my_print_defaults", "resolveip"}
	mariadbParts    = []string{
		"./usr/sbin/mariadbd", "./usr/bin/mariadb", "./usr/bin/mariadb-install-db", "./usr/bin/my_print_defaults", "./usr/bin/resolveip",
	}
)

// ErrNoServer means that Debian has no such server at this time.
var ErrNoServer = errors.New("no such server is to be had")

// sql builds the images of a server into one archive. The tag with -broken ends shortly after its start, whatever it is told.
func (b Builder) sql(ctx context.Context, s sqlServer) (Built, error) {
	if err := host.Require(ctx, host.DebianTools, b.Say); err != nil {
		return Built{}, err
	}
	layer, err := b.sqlLayer(ctx, s)
	if err != nil {
		return Built{}, err
	}
	var images []archive.Image
	for _, tag := range sqlTags {
		images = append(images, archive.Image{Name: s.image + ":" + tag, Layers: []archive.Layer{layer}, Config: archive.Config{
			User:         sqlUser + ":" + sqlUser,
			Env:          []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "ROLLCALL_TAG=" + tag},
			Cmd:          []string{s.programs[0]},
			ExposedPorts: map[string]struct{}{"3306/tcp": {}},
		}})
	}
	broken := images[len(images)-1]
	broken.Name += "-broken"
	broken.Config.Entrypoint = []string{"/bin/sh", "-c", "echo 'this image is broken on purpose' >&2; sleep 1; exit 1"}
	return b.pack(s.name, append(images, broken)...)
}

// sqlLayer is a small Debian with the server.
func (b Builder) sqlLayer(ctx context.Context, s sqlServer) (archive.Layer, error) {
	packages := strings.Join(s.packages, ",")
	without := append([]string{"/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*"}, s.without...)
	hook := s.only.hook()
	return b.layer(s.name, keyOf(append([]string{s.suite, packages, hook}, without...)...), func(w io.Writer) error {
		err := b.debian(ctx, w, s.suite, packages, without, hook, func(root string) error {
			version, err := packageVersion(ctx, root, s.packages[0])
			if err != nil {
				return err
			}
			b.Say("Debian %s has %s %s", s.suite, s.title, version)
			return s.accept(version)
		})
		if err != nil && strings.Contains(err.Error(), "Unable to locate package") {
			return fmt.Errorf("%w: Debian %s has no %s at this time, so nothing can be tested with %s; "+
				"everything else can\n%w", ErrNoServer, s.suite, s.packages[0], s.title, err)
		}
		return err
	})
}

// accept refuses what is older than the adapter knows.
func (s sqlServer) accept(version string) error {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("%s has the version %q: %w", s.title, version, err)
	}
	if major > s.oldest[0] || major == s.oldest[0] && minor >= s.oldest[1] {
		return nil
	}
	return fmt.Errorf("%w: Debian %s has %s %s, and the oldest that will do is %d.%d", ErrNoServer, s.suite, s.title, version, s.oldest[0], s.oldest[1])
}

// sqlLoader starts a program of a home with the C library that it was built for. What the caller says comes first, as some
// options must.
const sqlLoader = `#!/bin/sh
home=$(dirname "$(dirname "$(readlink -f "$0")")")
name=$(basename "$0")
libs=$(echo "$home"/root/usr/lib/*-linux-gnu*)
program=$(echo "$home"/root/usr/*bin/"$name")
case $name in
mysqld | mariadbd)
    for share in "$home"/root/usr/share/mysql "$home"/root/usr/share/mariadb "$home"/root/usr/share; do
        [ ! -d "$share/english" ] || break
    done
    # A server of Galera looks in the basedir for the scripts of a state transfer.
    base=$home
    [ -e "$home/bin/wsrep_sst_common" ] || base=$home/root/usr
    set -- "$@" --basedir="$base" --lc-messages-dir="$share" --plugin-dir="$home/root/usr/lib/mysql/plugin"
    [ "$(id -u)" != 0 ] || set -- "$@" --user=root
    ;;
mariadb-install-db) exec sh "$program" --basedir="$home" "$@" ;;
mariadb-upgrade) # it runs the other programs of the folder in which it is
    exec "$libs"/ld-linux-*.so.* --argv0 "$home/bin/$name" --library-path "$libs" "$program" "$@" ;;
esac
exec "$libs"/ld-linux-*.so.* --library-path "$libs" "$program" "$@"
`

// hook has mmdebstrap add the parts; empty means that there are none.
func (p packageParts) hook() string {
	if p.name == "" {
		return ""
	}
	paths := "'" + strings.Join(p.paths, "' '") + "'"
	return `APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get download ` + p.name + ` && dpkg-deb --fsys-tarfile ` + p.name + `_*.deb | ` +
		`tar -x -C "$1" --no-same-owner --no-overwrite-dir --wildcards ` + paths + ` && rm ` + p.name + `_*.deb`
}

func (b Builder) sqlHome(ctx context.Context, s sqlServer) (string, error) {
	return b.alone(ctx, slices.Concat(host.DebianTools, s.tools), func(ctx context.Context) (string, error) {
		layer, err := b.sqlLayer(ctx, s)
		if err != nil {
			return "", err
		}
		home := filepath.Join(b.Cache, s.name+"-home")
		key := keyOf(append([]string{layer.SHA256, sqlLoader}, slices.Concat(s.programs, s.scripts, s.parts)...)...)
		return home, once(home, key, func(dir string) error {
			b.Say("unpacking %s", s.title)
			if err := unpackDebian(ctx, dir, layer.File, s.parts...); err != nil {
				return err
			}
			return startable(dir, s.programs, s.scripts...)
		})
	})
}

// unpackDebian makes root/ of a home, with all libraries of a Debian and these parts of it.
func unpackDebian(ctx context.Context, dir, debian string, parts ...string) error {
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	unpack := append([]string{"tar", "-xf", debian, "--wildcards", "./usr/lib/*-linux-gnu*/*.so*"}, parts...)
	if err := command(ctx, root, nil, unpack...); err != nil {
		return err
	}
	return relink(root)
}

// startable makes bin/ of a home.
func startable(dir string, programs []string, scripts ...string) error {
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	for _, p := range programs {
		if err := os.WriteFile(filepath.Join(bin, p), []byte(sqlLoader), 0o755); err != nil {
			return err
		}
	}
	for _, name := range scripts {
		if err := os.Rename(filepath.Join(dir, "root", "usr", "bin", name), filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	// mariadb-install-db looks for programs and its tables in a tree of this form.
	return errors.Join(os.Symlink("bin", filepath.Join(dir, "sbin")), os.Symlink("root/usr/share", filepath.Join(dir, "share")))
}
