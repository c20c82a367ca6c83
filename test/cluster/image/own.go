package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
)

// OwnName is the name, without tag, of one of Rollcall's own images.
func OwnName(part string) string { return "docker.io/rollcall-dev/" + part }

// nobody is the user of Rollcall's own images; it owns nothing.
const nobody = "65532"

// ErrNoPackage is returned when the checkout lacks the program that an image would hold.
var ErrNoPackage = errors.New("no such package")

// own builds the image of a part of Rollcall: static programs in an otherwise empty root, of which the first is run.
// The same sources and toolchain give the same bytes.
func (b Builder) own(ctx context.Context, part string, programs ...string) (Built, error) {
	tmp, err := os.MkdirTemp(b.Cache, programs[0]+"-")
	if err != nil {
		return Built{}, err
	}
	defer os.RemoveAll(tmp)
	files := []archive.File{
		{Path: "etc/passwd", Content: fmt.Appendf(nil, "nonroot:x:%[1]s:%[1]s::/:/sbin/nologin\n", nobody)},
		{Path: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
	// Licences ask that their texts go with the programs.
	notices := filepath.Join(b.Root, "deploy", "licences", part+".txt")
	files = append(files, archive.File{Path: "licences.txt", From: notices, Mode: 0o644})
	contents := []string{notices}
	for _, program := range programs {
		pkg, binary := "./cmd/"+program, filepath.Join(tmp, program)
		if err := b.static(ctx, pkg, binary, flagsOf(program)...); err != nil {
			return Built{}, err
		}
		contents = append(contents, binary)
		files = append(files, archive.File{Path: program, From: binary, Mode: 0o755})
	}
	key, err := keyOfFiles(contents...)
	if err != nil {
		return Built{}, err
	}
	layer, err := b.layer(programs[0], key, func(w io.Writer) error { return archive.WriteLayer(w, files...) })
	if err != nil {
		return Built{}, err
	}
	if err := b.forgetLayers(programs[0], layer.File); err != nil {
		return Built{}, err
	}
	file := part
	if b.Tag != DefaultTag {
		file += "-" + b.Tag
	}
	return b.pack(file, archive.Image{
		Name:   OwnName(part) + ":" + b.Tag,
		Layers: []archive.Layer{layer},
		Config: archive.Config{User: nobody + ":" + nobody, Entrypoint: []string{"/" + programs[0]}},
	})
}

// static builds a program of the checkout that needs nothing else. The toolchain's own cache knows best whether anything has
// changed.
func (b Builder) static(ctx context.Context, pkg, binary string, flags ...string) error {
	if _, err := os.Stat(filepath.Join(b.Root, pkg)); err != nil {
		return fmt.Errorf("%w: %s in %s", ErrNoPackage, pkg, b.Root)
	}
	argv := append([]string{"go", "build", "-trimpath", "-ldflags=-s -w -buildid= -funcalign=16 -X main.version=" + b.Version, "-o", binary}, flags...)
	return command(ctx, b.Root, []string{"CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off", "GOOS=linux"}, append(argv, pkg)...)
}

// flagsOf a program of Rollcall, as in the Makefile: the agent is built small.
func flagsOf(program string) []string {
	if program == "rollcall-agent" {
		return []string{"-tags", "grpcnotrace,nethttpomithttp2", "-gcflags=all=-l"}
	}
	return []string{"-tags", "grpcnotrace"}
}

// forgetLayers removes layers of earlier sources: of one's own programs there would soon be many.
func (b Builder) forgetLayers(program, keep string) error {
	files, err := filepath.Glob(filepath.Join(b.Cache, "layers", program+"-*.tar"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if f != keep {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// Platform is what the images run on.
func Platform() string { return "linux/" + runtime.GOARCH }
