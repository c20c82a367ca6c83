package image

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
	"github.com/rollcall-dev/rollcall/test/cluster/host"
)

// SolrName is the image; its tags are the versions below.
const SolrName = "docker.io/rollcall-test/solr"

// solrVersions are the two ends of the upgrade that is shown, each with the Jetty that it was released with.
var solrVersions = []struct{ solr, jetty string }{
	{"9.9.0", "10.0.22"},
	{"9.10.0", "10.0.26"},
}

const (
	javaSuite    = "trixie"
	javaPackages = "openjdk-21-jre-headless,iproute2,curl,procps"
	solrUser     = "8983" // as in the official image
	mavenCopy    = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
)

// solr builds all Solr images into one archive. The tag with -broken ends shortly after its start, whatever it is told.
func (b Builder) solr(ctx context.Context) (Built, error) {
	if err := host.Require(ctx, host.ImageTools, b.Say); err != nil {
		return Built{}, err
	}
	home, err := b.solrHome(ctx)
	if err != nil {
		return Built{}, err
	}
	java, err := b.javaLayer(ctx)
	if err != nil {
		return Built{}, err
	}
	sources := b.solrSources()
	key, err := keyOfFiles(sources)
	if err != nil {
		return Built{}, err
	}
	node, err := b.layer("solr-node", key, func(w io.Writer) error {
		return archive.WriteLayer(w,
			archive.File{Path: "opt/solr/classes", From: filepath.Join(home, "classes")},
			archive.File{Path: "opt/solr/conf", From: filepath.Join(home, "conf")},
			archive.File{Path: "opt/solr/etc", From: filepath.Join(home, "etc")},
			archive.File{Path: "opt/solr/entrypoint.sh", From: filepath.Join(sources, "entrypoint.sh"), Mode: 0o755},
		)
	})
	if err != nil {
		return Built{}, err
	}
	var images []archive.Image
	for _, v := range solrVersions {
		jars, err := b.layer("solr-jars-"+v.solr, jarKey(sources, v.solr, v.jetty), func(w io.Writer) error {
			return archive.WriteLayer(w, archive.File{Path: "opt/solr/lib", From: filepath.Join(home, "lib-"+v.solr)})
		})
		if err != nil {
			return Built{}, err
		}
		config := archive.Config{
			User:         solrUser + ":" + solrUser,
			Env:          []string{"PATH=/usr/local/bin:/usr/bin:/bin", "SOLR_VERSION=" + v.solr},
			Entrypoint:   []string{"/opt/solr/entrypoint.sh"},
			WorkingDir:   "/opt/solr",
			ExposedPorts: map[string]struct{}{"8983/tcp": {}, "2181/tcp": {}},
		}
		layers := []archive.Layer{java, jars, node}
		images = append(images, archive.Image{Name: SolrName + ":" + v.solr, Layers: layers, Config: config})
	}
	broken := images[len(images)-1]
	broken.Name += "-broken"
	broken.Config.Entrypoint = []string{"/bin/sh", "-c", "echo 'this image is broken on purpose' >&2; sleep 1; exit 1"}
	return b.pack("solr", append(images, broken)...)
}

func (b Builder) solrSources() string { return filepath.Join(b.Root, "test", "images", "solr") }

// javaLayer is a small Debian with a Java run-time environment.
func (b Builder) javaLayer(ctx context.Context) (archive.Layer, error) {
	return b.layer("java", keyOf(javaSuite, javaPackages), func(w io.Writer) error {
		// Man pages must stay: the JRE's set-up writes there.
		return b.debian(ctx, w, javaSuite, javaPackages, []string{"/usr/share/doc/*", "/usr/share/locale/*"}, "", nil)
	})
}

// SolrHome is a folder from which Solr can be run without a container:
//
//	lib-VERSION/  the jars, for each version
//	classes/      dev.rollcall.solr.SolrNode, the main class
//	conf/         the configset for -Dsolr.default.confdir
//	etc/          log4j2.xml, and solr.xml for -Dsolr.solr.home
//
// entrypoint.sh beside the sources shows the system properties.
func (b Builder) SolrHome(ctx context.Context) (string, error) {
	return b.alone(ctx, host.ImageTools, b.solrHome)
}

func (b Builder) solrHome(ctx context.Context) (string, error) {
	sources := b.solrSources()
	home := filepath.Join(b.Cache, "solr-home")
	for _, v := range solrVersions {
		err := once(filepath.Join(home, "lib-"+v.solr), jarKey(sources, v.solr, v.jetty), func(dir string) error {
			b.Say("fetching the jars of Solr %s", v.solr)
			return command(ctx, sources, nil, "mvn", "-q", "-B", "-f", filepath.Join(sources, "pom.xml"),
				"-Dsolr.version="+v.solr, "-Djetty.version="+v.jetty, mavenCopy,
				"-DincludeScope=runtime", "-DoutputDirectory="+dir)
		})
		if err != nil {
			return "", err
		}
	}
	key, err := keyOfFiles(sources)
	if err != nil {
		return "", err
	}
	newest := filepath.Join(home, "lib-"+solrVersions[len(solrVersions)-1].solr)
	err = once(filepath.Join(home, "classes"), key, func(dir string) error {
		return command(ctx, sources, nil, "javac", "-proc:none", "--release", "17", "-cp", newest+"/*",
			"-d", dir, filepath.Join(sources, "src", "dev", "rollcall", "solr", "SolrNode.java"))
	})
	if err != nil {
		return "", err
	}
	for to, from := range map[string][]string{"conf": {"conf"}, "etc": {"log4j2.xml", "solr.xml"}} {
		err := once(filepath.Join(home, to), key, func(dir string) error {
			for _, f := range from {
				if err := copyTo(dir, filepath.Join(sources, f)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return home, nil
}

func jarKey(sources, solr, jetty string) string {
	pom, err := os.ReadFile(filepath.Join(sources, "pom.xml"))
	if err != nil {
		pom = []byte(err.Error()) // Maven will say it better
	}
	return keyOf(string(pom), solr, jetty)
}

// once fills the folder, whole or not at all, unless it was filled under the same key.
func once(dir, key string, fill func(dir string) error) error {
	mark := dir + ".key"
	if have, err := os.ReadFile(mark); err == nil && string(have) == key {
		if _, err := os.Stat(dir); err == nil {
			return nil
		}
	}
	next := dir + ".next"
	if err := errors.Join(os.RemoveAll(next), os.MkdirAll(next, 0o755)); err != nil {
		return err
	}
	if err := fill(next); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(dir), os.Rename(next, dir)); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(key), 0o644)
}

// copyTo copies a file into the folder, or what a folder holds.
func copyTo(dir, from string) error {
	st, err := os.Stat(from)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return os.CopyFS(dir, os.DirFS(from))
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, filepath.Base(strings.TrimSuffix(from, "/"))), b, 0o644)
}
