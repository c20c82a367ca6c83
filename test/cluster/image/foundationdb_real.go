package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
	"github.com/rollcall-dev/rollcall/test/cluster/host"
)

// RealFoundationDBImage is the image of the FoundationDB of a folder. Only who has such a folder has it.
const RealFoundationDBImage = "docker.io/rollcall-test/foundationdb-real:local"

// ErrNoFoundationDB means that the folder does not have the programs.
var ErrNoFoundationDB = errors.New("no FoundationDB to make an image of")

// FoundationDBOf packs the fdbserver and fdbcli of a folder, with the libraries that they are linked with on this machine,
// into a small Debian with a shell and an init process, as the official images have them.
func (b Builder) FoundationDBOf(ctx context.Context, folder string) (Built, error) {
	files, err := foundationDBFiles(ctx, folder)
	if err != nil {
		return Built{}, err
	}
	var built Built
	_, err = b.alone(ctx, host.DebianTools, func(ctx context.Context) (string, error) {
		var err error
		built, err = b.packFoundationDB(ctx, files)
		return built.Archive, err
	})
	return built, err
}

func (b Builder) packFoundationDB(ctx context.Context, files []archive.File) (Built, error) {
	const suite, packages = "bookworm", "tini"
	without := []string{"/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*"}
	base, err := b.layer("foundationdb-base", keyOf(append([]string{suite, packages}, without...)...), func(w io.Writer) error {
		return b.debian(ctx, w, suite, packages, without, "", nil)
	})
	if err != nil {
		return Built{}, err
	}
	var sources []string
	for _, f := range files {
		sources = append(sources, f.From)
	}
	key, err := keyOfFiles(sources...)
	if err != nil {
		return Built{}, err
	}
	programs, err := b.layer("foundationdb-real", key, func(w io.Writer) error { return archive.WriteLayer(w, files...) })
	if err != nil {
		return Built{}, err
	}
	if err := b.forgetLayers("foundationdb-real", programs.File); err != nil {
		return Built{}, err
	}
	return b.pack("foundationdb-real", archive.Image{Name: RealFoundationDBImage, Layers: []archive.Layer{base, programs}, Config: archive.Config{
		User:       fmt.Sprintf("%[1]d:%[1]d", foundationDBUser),
		Env:        []string{"PATH=/usr/bin:/bin"},
		Entrypoint: []string{"/usr/bin/tini", "-g", "--"},
	}})
}

// foundationDBFiles are the programs of the folder and their libraries but those of the C library, which are the base's.
func foundationDBFiles(ctx context.Context, folder string) ([]archive.File, error) {
	var files []archive.File
	libraries := map[string]bool{}
	for _, name := range []string{"fdbserver", "fdbcli"} {
		program := filepath.Join(folder, name)
		if _, err := os.Stat(program); err != nil {
			return nil, fmt.Errorf("%w: %w: the folder must have fdbserver and fdbcli", ErrNoFoundationDB, err)
		}
		files = append(files, archive.File{Path: "usr/bin/" + name, From: program, Mode: 0o755})
		out, err := exec.CommandContext(ctx, "ldd", program).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%w: ldd %s: %w: %s", ErrNoFoundationDB, program, err, strings.TrimSpace(string(out)))
		}
		for _, library := range linkedLibraries(string(out)) {
			libraries[library] = true
		}
	}
	for library := range libraries {
		real, err := filepath.EvalSymlinks(library)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoFoundationDB, err)
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(library))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoFoundationDB, err)
		}
		files = append(files, archive.File{Path: filepath.Join(dir, filepath.Base(library)), From: real, Mode: 0o755})
	}
	return files, nil
}

// linkedLibraries reads what ldd prints, without the C library's own.
func linkedLibraries(text string) []string {
	own := []string{"ld-linux", "libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libresolv.so"}
	var paths []string
next:
	for line := range strings.Lines(text) {
		_, path, found := strings.Cut(line, "=> /")
		if !found {
			continue
		}
		path, _, _ = strings.Cut("/"+path, " ")
		for _, prefix := range own {
			if strings.HasPrefix(filepath.Base(path), prefix) {
				continue next
			}
		}
		paths = append(paths, path)
	}
	return paths
}
