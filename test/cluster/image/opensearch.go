package image

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
	"github.com/rollcall-dev/rollcall/test/cluster/host"
)

// OpenSearchName is the image; its tags are the versions below.
const OpenSearchName = "docker.io/rollcall-test/opensearch"

// openSearchVersions are the two ends of the upgrade that is shown: the newest of each line whose server is published as
// a whole.
var openSearchVersions = []string{"2.19.6", "3.8.0"}

// openSearchDirs are folders that 2.x makes when they are missing, which it may not in an image.
var openSearchDirs = []string{"bin", "plugins"}

const (
	openSearchUser = "1000" // as in the official image
	// openSearchZip is the server without a Java and without plug-ins; of its modules the transport is all that the tests need.
	openSearchZip   = "org.opensearch.distribution.integ-test-zip:opensearch"
	openSearchParts = "*/lib/**,*/agent/**,*/modules/transport-netty4/**"
	mavenUnpack     = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack"
)

// openSearch builds all OpenSearch images into one archive. The tag with -broken ends shortly after its start, whatever it
// is told.
func (b Builder) openSearch(ctx context.Context) (Built, error) {
	if err := host.Require(ctx, host.OpenSearchTools, b.Say); err != nil {
		return Built{}, err
	}
	home, err := b.openSearchHome(ctx)
	if err != nil {
		return Built{}, err
	}
	java, err := b.javaLayer(ctx)
	if err != nil {
		return Built{}, err
	}
	node, err := b.openSearchNode(ctx)
	if err != nil {
		return Built{}, err
	}
	var images []archive.Image
	for _, version := range openSearchVersions {
		dist, err := b.layer("opensearch-"+version, keyOf(openSearchKey(version), fmt.Sprint(openSearchDirs)), func(w io.Writer) error {
			files := []archive.File{{Path: "opt/opensearch/dist", From: filepath.Join(home, version)}}
			for _, dir := range openSearchDirs {
				files = append(files, archive.File{Path: "opt/opensearch/dist/" + dir, Mode: fs.ModeDir | 0o755})
			}
			return archive.WriteLayer(w, files...)
		})
		if err != nil {
			return Built{}, err
		}
		config := archive.Config{
			User:         openSearchUser + ":" + openSearchUser,
			Env:          []string{"PATH=/usr/local/bin:/usr/bin:/bin", "OPENSEARCH_VERSION=" + version},
			Entrypoint:   []string{"/opt/opensearch/entrypoint.sh"},
			WorkingDir:   "/opt/opensearch",
			ExposedPorts: map[string]struct{}{"9200/tcp": {}, "9300/tcp": {}},
		}
		layers := []archive.Layer{java, dist, node}
		images = append(images, archive.Image{Name: OpenSearchName + ":" + version, Layers: layers, Config: config})
	}
	broken := images[len(images)-1]
	broken.Name += "-broken"
	broken.Config.Entrypoint = []string{"/bin/sh", "-c", "echo 'this image is broken on purpose' >&2; sleep 1; exit 1"}
	return b.pack("opensearch", append(images, broken)...)
}

func (b Builder) openSearchSources() string {
	return filepath.Join(b.Root, "test", "images", "opensearch")
}

// openSearchNode is what all versions share: how a node is started.
func (b Builder) openSearchNode(ctx context.Context) (archive.Layer, error) {
	sources := b.openSearchSources()
	key, err := keyOfFiles(sources)
	if err != nil {
		return archive.Layer{}, err
	}
	return b.layer("opensearch-node", key, func(w io.Writer) error {
		tmp, err := os.MkdirTemp(b.Cache, "opensearch-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		library := filepath.Join(tmp, "nofile.so")
		if err := command(ctx, tmp, nil, "cc", "-shared", "-fPIC", "-O2", "-Wall", "-o", library, filepath.Join(sources, "nofile.c")); err != nil {
			return err
		}
		return archive.WriteLayer(w,
			archive.File{Path: "opt/opensearch/lib/nofile.so", From: library, Mode: 0o755},
			archive.File{Path: "opt/opensearch/etc/log4j2.properties", From: filepath.Join(sources, "log4j2.properties"), Mode: 0o644},
			archive.File{Path: "opt/opensearch/entrypoint.sh", From: filepath.Join(sources, "entrypoint.sh"), Mode: 0o755},
		)
	})
}

// OpenSearchHome is a folder from which OpenSearch can be run without a container:
//
//	VERSION/  lib, modules and, from 3.0 on, agent, for each version
//	etc/      log4j2.properties
//	java/     a Java for all of them
//
// entrypoint.sh beside the sources shows how.
func (b Builder) OpenSearchHome(ctx context.Context) (string, error) {
	return b.alone(ctx, host.ImageTools, b.openSearchHome)
}

func (b Builder) openSearchHome(ctx context.Context) (string, error) {
	home := filepath.Join(b.Cache, "opensearch-home")
	if err := b.jre(ctx, filepath.Join(home, "java")); err != nil {
		return "", err
	}
	for _, version := range openSearchVersions {
		err := once(filepath.Join(home, version), openSearchKey(version), func(dir string) error {
			b.Say("fetching OpenSearch %s", version)
			tmp, err := os.MkdirTemp(b.Cache, "opensearch-") // Maven leaves marks where it works
			if err != nil {
				return err
			}
			defer os.RemoveAll(tmp)
			err = command(ctx, tmp, nil, "mvn", "-q", "-B", mavenUnpack, "-Dartifact="+openSearchZip+":"+version+":zip",
				"-Dmdep.unpack.includes="+openSearchParts, "-DoutputDirectory="+tmp)
			if err != nil {
				return err
			}
			return move(filepath.Join(tmp, "opensearch-"+version), dir)
		})
		if err != nil {
			return "", err
		}
	}
	sources := b.openSearchSources()
	key, err := keyOfFiles(sources)
	if err != nil {
		return "", err
	}
	return home, once(filepath.Join(home, "etc"), key, func(dir string) error {
		return copyTo(dir, filepath.Join(sources, "log4j2.properties"))
	})
}

func openSearchKey(version string) string { return keyOf(openSearchZip, version, openSearchParts) }

// move puts what one folder holds into another.
func move(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
