// Package image builds the images that the demo and the tests run, without a container engine: Solr with ZooKeeper, and
// OpenSearch, from Debian packages and Maven, MySQL and MariaDB from Debian packages, and Rollcall's own and the simulated
// FoundationDB from static binaries.
//
// Everything that is made is kept under a key of everything that went into it, so that a second build has nothing to do,
// and layers are shared: the image of another Solr version adds its jars only.
package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
	"github.com/rollcall-dev/rollcall/test/cluster/host"
)

// Builder builds images of the checkout at Root into Cache.
type Builder struct {
	Root    string // of the checkout
	Cache   string
	Tag     string // of Rollcall's own images
	Version string // that Rollcall's own programs report
	Say     func(format string, args ...any)
}

// DefaultTag is the default tag of Rollcall's own images.
const DefaultTag = "dev"

// Built is an archive, ready to be loaded.
type Built struct {
	Archive string
	Images  []archive.Image
	Fresh   bool // made just now
}

// recipe makes one archive.
type recipe struct {
	name  string
	build func(Builder, context.Context) (Built, error)
}

var recipes = []recipe{
	{"solr", Builder.solr},
	{"opensearch", Builder.openSearch},
	{"opensearch-secured", Builder.securedOpenSearch},
	{"mysql", func(b Builder, ctx context.Context) (Built, error) { return b.sql(ctx, mysqlServer) }},
	{"mariadb", func(b Builder, ctx context.Context) (Built, error) { return b.sql(ctx, mariadbServer) }},
	{"foundationdb", Builder.foundationDB},
	{"agent", func(b Builder, ctx context.Context) (Built, error) { return b.own(ctx, "agent", "rollcall-agent") }},
	{"coordinator", func(b Builder, ctx context.Context) (Built, error) {
		return b.own(ctx, "coordinator", "rollcall-coordinator", "rollcall")
	}},
}

// Names are the archives that can be built.
func Names() []string {
	var names []string
	for _, r := range recipes {
		names = append(names, r.name)
	}
	return names
}

// Build builds the named archives, or all. One that fails does not keep the others from being built.
func (b Builder) Build(ctx context.Context, names ...string) ([]Built, error) {
	unlock, err := host.Lock(ctx, filepath.Join(b.Cache, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if len(names) == 0 {
		names = Names()
	}
	var out []Built
	var errs []error
	for _, name := range names {
		built, err := b.one(ctx, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("image %s: %w", name, err))
			continue
		}
		out = append(out, built)
	}
	return out, errors.Join(errs...)
}

// alone makes the folder or the archive of a database with these tools, while nobody else makes anything.
func (b Builder) alone(ctx context.Context, tools []host.Tool, home func(context.Context) (string, error)) (string, error) {
	if err := host.Require(ctx, tools, b.Say); err != nil {
		return "", err
	}
	unlock, err := host.Lock(ctx, filepath.Join(b.Cache, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	return home(ctx)
}

func (b Builder) one(ctx context.Context, name string) (Built, error) {
	for _, r := range recipes {
		if r.name == name {
			return r.build(b, ctx)
		}
	}
	return Built{}, fmt.Errorf("there are %s", strings.Join(Names(), ", "))
}

// layer gives the layer under a key, made by the function when it is not there.
func (b Builder) layer(name, key string, make func(w io.Writer) error) (archive.Layer, error) {
	file := filepath.Join(b.Cache, "layers", name+"-"+key+".tar")
	if _, err := os.Stat(file); err == nil {
		return archive.OpenLayer(file)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return archive.Layer{}, err
	}
	begin := time.Now()
	b.Say("making layer %s", name)
	if err := writeWhole(file, make); err != nil {
		return archive.Layer{}, fmt.Errorf("layer %s: %w", name, err)
	}
	l, err := archive.OpenLayer(file)
	if err == nil {
		b.Say("made layer %s: %s in %s", name, MiB(l.Size), time.Since(begin).Round(100*time.Millisecond))
	}
	return l, err
}

// pack writes the archive unless the one there holds just these images: what has not changed keeps its time of change,
// by which nodes know that they have it.
func (b Builder) pack(name string, images ...archive.Image) (Built, error) {
	file := filepath.Join(b.Cache, name+".tar")
	key := keyOf(fmt.Sprintf("%+v", images))
	keyFile := filepath.Join(b.Cache, "."+name+".key")
	built := Built{Archive: file, Images: images}
	if have, err := os.ReadFile(keyFile); err == nil && string(have) == key {
		if _, err := os.Stat(file); err == nil {
			return built, nil
		}
	}
	built.Fresh = true
	if err := writeWhole(file, func(w io.Writer) error { return archive.Write(w, images...) }); err != nil {
		return Built{}, err
	}
	return built, os.WriteFile(keyFile, []byte(key), 0o644)
}

// MiB writes a size for people.
func MiB(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

func writeWhole(file string, write func(io.Writer) error) error {
	next := file + ".next"
	f, err := os.Create(next)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		os.Remove(next)
		return err
	}
	return os.Rename(next, file)
}

func keyOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintln(h, len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// keyOfFiles adds names and contents of all files below the paths.
func keyOfFiles(paths ...string) (string, error) {
	var parts []string
	for _, p := range paths {
		err := filepath.WalkDir(p, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(filepath.Dir(p), file)
			parts = append(parts, rel, string(b))
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return keyOf(parts...), nil
}

// command runs a program; its output is part of the error.
func command(ctx context.Context, dir string, env []string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Errorf("%s: %w:\n%s", argv[0], err, strings.Join(lines[max(0, len(lines)-15):], "\n"))
}
