package image

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
	"github.com/rollcall-dev/rollcall/test/cluster/host"
)

// OpenSearchName is the image; its tags are the versions below.
const OpenSearchName = "docker.io/rollcall-test/opensearch"

// openSearchVersions are the two ends of the upgrade that is shown: the newest of each line whose server is published as
// a whole.
var openSearchVersions = []string{"2.19.6", "3.8.0"}

// securedVersions are two ends of an upgrade with the security plugin: the newest of each line whose plugin is published. They
// are an archive of their own, so that what does not need them does not load them.
var securedVersions = []string{"2.19.4", "3.4.0"}

// openSearchDirs are folders that 2.x makes when they are missing, which it may not in an image.
var openSearchDirs = []string{"bin", "plugins"}

const (
	openSearchUser = "1000" // as in the official image
	// openSearchZip is the server without a Java and without plug-ins; of its modules the transport is all that the tests need.
	openSearchZip   = "org.opensearch.distribution.integ-test-zip:opensearch"
	openSearchParts = "*/lib/**,*/agent/**,*/modules/transport-netty4/**"
	// securityPlugin is a zip that holds the plugin's folder. Its version is that of the server with ".0".
	securityPlugin = "org.opensearch.plugin:opensearch-security"
	// securityLibrary is what the plugin takes from one that it extends.
	securityLibrary = "org.apache.commons:commons-collections4:4.4"
	mavenUnpack     = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack"
)

// openSearch builds the images without the security plugin into one archive. The tag with -broken ends shortly after its
// start, whatever it is told.
func (b Builder) openSearch(ctx context.Context) (Built, error) {
	images, err := b.openSearchImages(ctx, openSearchVersions)
	if err != nil {
		return Built{}, err
	}
	broken := images[len(images)-1]
	broken.Name += "-broken"
	broken.Config.Entrypoint = []string{"/bin/sh", "-c", "echo 'this image is broken on purpose' >&2; sleep 1; exit 1"}
	return b.pack("opensearch", append(images, broken)...)
}

// securedOpenSearch builds the images with the security plugin.
func (b Builder) securedOpenSearch(ctx context.Context) (Built, error) {
	images, err := b.openSearchImages(ctx, securedVersions)
	if err != nil {
		return Built{}, err
	}
	return b.pack("opensearch-secured", images...)
}

func (b Builder) openSearchImages(ctx context.Context, versions []string) ([]archive.Image, error) {
	if err := host.Require(ctx, host.OpenSearchTools, b.Say); err != nil {
		return nil, err
	}
	home, err := b.openSearchHome(ctx, versions)
	if err != nil {
		return nil, err
	}
	java, err := b.javaLayer(ctx)
	if err != nil {
		return nil, err
	}
	node, err := b.openSearchNode(ctx)
	if err != nil {
		return nil, err
	}
	var images []archive.Image
	for _, version := range versions {
		dist, err := b.layer("opensearch-"+version, keyOf(openSearchKey(version), fmt.Sprint(openSearchDirs)), func(w io.Writer) error {
			files := []archive.File{{Path: "opt/opensearch/dist", From: filepath.Join(home, version)}}
			for _, dir := range openSearchDirs {
				if _, err := os.Stat(filepath.Join(home, version, dir)); err == nil {
					continue
				}
				files = append(files, archive.File{Path: "opt/opensearch/dist/" + dir, Mode: fs.ModeDir | 0o755})
			}
			return archive.WriteLayer(w, files...)
		})
		if err != nil {
			return nil, err
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
	return images, nil
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
//	VERSION/  lib, modules and, from 3.0 on, agent, for each version; plugins/opensearch-security for those that have it
//	etc/      log4j2.properties
//	java/     a Java for all of them
//
// entrypoint.sh beside the sources shows how.
func (b Builder) OpenSearchHome(ctx context.Context) (string, error) {
	return b.alone(ctx, host.ImageTools, func(ctx context.Context) (string, error) {
		return b.openSearchHome(ctx, append(slices.Clone(openSearchVersions), securedVersions...))
	})
}

func (b Builder) openSearchHome(ctx context.Context, versions []string) (string, error) {
	home := filepath.Join(b.Cache, "opensearch-home")
	if err := b.jre(ctx, filepath.Join(home, "java")); err != nil {
		return "", err
	}
	for _, version := range versions {
		err := once(filepath.Join(home, version), openSearchKey(version), func(dir string) error {
			return b.fetchOpenSearch(ctx, version, dir)
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

func (b Builder) fetchOpenSearch(ctx context.Context, version, dir string) error {
	b.Say("fetching OpenSearch %s", version)
	tmp, err := os.MkdirTemp(b.Cache, "opensearch-") // Maven leaves marks where it works
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	unpack := func(artifact, to string, more ...string) error {
		argv := append([]string{"mvn", "-q", "-B", mavenUnpack, "-Dartifact=" + artifact + ":zip", "-DoutputDirectory=" + to}, more...)
		return command(ctx, tmp, nil, argv...)
	}
	if err := unpack(openSearchZip+":"+version, tmp, "-Dmdep.unpack.includes="+openSearchParts); err != nil {
		return err
	}
	if err := move(filepath.Join(tmp, "opensearch-"+version), dir); err != nil || !slices.Contains(securedVersions, version) {
		return err
	}
	plugin := filepath.Join(dir, "plugins", "opensearch-security")
	if err := unpack(securityPlugin+":"+version+".0", plugin); err != nil {
		return err
	}
	err = command(ctx, tmp, nil, "mvn", "-q", "-B", mavenCopyOne, "-Dartifact="+securityLibrary, "-DoutputDirectory="+plugin)
	if err != nil {
		return err
	}
	return standAlone(filepath.Join(plugin, "plugin-descriptor.properties"))
}

// standAlone makes the plugin load without the plugins that it extends, of which nothing is published as a whole. From 3.x on
// it tells workload management who asks; all else it does without, but for a library.
func standAlone(descriptor string) error {
	text, err := os.ReadFile(descriptor)
	if err != nil {
		return err
	}
	return os.WriteFile(descriptor, extends.ReplaceAll(text, []byte("extended.plugins=")), 0o644)
}

var extends = regexp.MustCompile(`(?m)^extended\.plugins=.*$`)

func openSearchKey(version string) string {
	if slices.Contains(securedVersions, version) {
		return keyOf(openSearchZip, version, openSearchParts, securityPlugin, securityLibrary, extends.String())
	}
	return keyOf(openSearchZip, version, openSearchParts)
}

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
