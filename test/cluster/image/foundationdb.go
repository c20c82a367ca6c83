package image

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
)

// FoundationDBName is the image of the simulated FoundationDB: no server can be had. Its tags are versions that it plays; the
// first two understand each other, so that a change between them can be rolled.
const FoundationDBName = "docker.io/rollcall-test/foundationdb"

var foundationDBVersions = []string{"7.3.63", "7.3.70", "7.4.5"}

const foundationDBUser = 4059 // as in the official images

// simulatedFoundationDB is the program, in the checkout.
const simulatedFoundationDB = "./test/fdbsim/cmd/fdbsim"

// foundationDB builds the images into one archive: one static program in an otherwise empty root. The tag with -broken ends
// at once, whatever it is told.
func (b Builder) foundationDB(ctx context.Context) (Built, error) {
	tmp, err := os.MkdirTemp(b.Cache, "fdbsim-")
	if err != nil {
		return Built{}, err
	}
	defer os.RemoveAll(tmp)
	binary := filepath.Join(tmp, "fdbsim")
	if err := b.static(ctx, simulatedFoundationDB, binary); err != nil {
		return Built{}, err
	}
	key, err := keyOfFiles(binary)
	if err != nil {
		return Built{}, err
	}
	files := []archive.File{
		{Path: "etc/passwd", Content: fmt.Appendf(nil, "fdb:x:%[1]d:%[1]d::/:/sbin/nologin\n", foundationDBUser)},
		{Path: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{Path: "fdbsim", From: binary, Mode: 0o755},
	}
	layer, err := b.layer("fdbsim", key, func(w io.Writer) error { return archive.WriteLayer(w, files...) })
	if err != nil {
		return Built{}, err
	}
	if err := b.forgetLayers("fdbsim", layer.File); err != nil {
		return Built{}, err
	}
	var images []archive.Image
	for _, version := range foundationDBVersions {
		images = append(images, archive.Image{Name: FoundationDBName + ":" + version, Layers: []archive.Layer{layer}, Config: archive.Config{
			User:       fmt.Sprintf("%[1]d:%[1]d", foundationDBUser),
			Env:        []string{"FDBSIM_VERSION=" + version},
			Entrypoint: []string{"/fdbsim"},
		}})
	}
	broken := images[1]
	broken.Name += "-broken"
	broken.Config.Entrypoint = []string{"/fdbsim", "broken-on-purpose"}
	return b.pack("foundationdb", append(images, broken)...)
}
