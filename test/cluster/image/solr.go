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

// solrVersions are the versions of the home, each with the Jetty that it was released with.
var solrVersions = []solrVersion{
	{"8.11.4", "9.4.53.v20231009"},
	{"9.10.1", "10.0.26"},
	{"10.0.0", "12.0.27"},
}

// solrShown are the versions of the images: the two ends of the upgrade that is shown.
var solrShown = solrVersions[1:]

type solrVersion struct{ solr, jetty string }

// line is the major version: the folder of lines/ in which the sources differ.
func (v solrVersion) line() string { return strings.SplitN(v.solr, ".", 2)[0] }

const (
	javaSuite    = "trixie"
	javaPackages = "openjdk-21-jre-headless,iproute2,curl,procps"
	solrUser     = "8983" // as in the official image
	mavenCopy    = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
	// solrCompiler reads the classes of Java 21 without a JDK of that version.
	solrCompiler  = "org.eclipse.jdt:ecj:3.37.0"
	mavenArtifact = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
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
			archive.File{Path: "opt/solr/conf", From: filepath.Join(home, "conf")},
			archive.File{Path: "opt/solr/etc", From: filepath.Join(home, "etc")},
			archive.File{Path: "opt/solr/entrypoint.sh", From: filepath.Join(sources, "entrypoint.sh"), Mode: 0o755},
		)
	})
	if err != nil {
		return Built{}, err
	}
	var images []archive.Image
	for _, v := range solrShown {
		jars, err := b.layer("solr-jars-"+v.solr, v.jarKey(sources), func(w io.Writer) error {
			return archive.WriteLayer(w, archive.File{Path: "opt/solr/lib", From: filepath.Join(home, "lib-"+v.solr)})
		})
		if err != nil {
			return Built{}, err
		}
		classes, err := b.layer("solr-classes-"+v.solr, keyOf(key, v.jarKey(sources)), func(w io.Writer) error {
			return archive.WriteLayer(w, archive.File{Path: "opt/solr/classes", From: filepath.Join(home, "classes-"+v.solr)})
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
		layers := []archive.Layer{java, jars, classes, node}
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
//	lib-VERSION/      the jars, for each version
//	classes-VERSION/  dev.rollcall.solr.SolrNode, the main class, and solr.xml for -Dsolr.solr.home, for each version
//	conf/             the configset for -Dsolr.default.confdir
//	etc/              log4j2.xml
//	java/             a Java for all of them
//
// entrypoint.sh beside the sources shows the system properties.
func (b Builder) SolrHome(ctx context.Context) (string, error) {
	return b.alone(ctx, host.ImageTools, b.solrHome)
}

func (b Builder) solrHome(ctx context.Context) (string, error) {
	sources := b.solrSources()
	home := filepath.Join(b.Cache, "solr-home")
	java := filepath.Join(home, "java")
	if err := b.jre(ctx, java); err != nil {
		return "", err
	}
	key, err := keyOfFiles(sources)
	if err != nil {
		return "", err
	}
	for _, v := range solrVersions {
		jars := filepath.Join(home, "lib-"+v.solr)
		err := once(jars, v.jarKey(sources), func(dir string) error {
			b.Say("fetching the jars of Solr %s", v.solr)
			return command(ctx, sources, nil, "mvn", "-q", "-B", "-f", v.pom(sources),
				"-Dsolr.version="+v.solr, "-Djetty.version="+v.jetty, mavenCopy,
				"-DincludeScope=runtime", "-DoutputDirectory="+dir)
		})
		if err != nil {
			return "", err
		}
		err = once(filepath.Join(home, "classes-"+v.solr), keyOf(key, v.jarKey(sources), solrCompiler), func(dir string) error {
			if err := copyTo(dir, v.settings(sources)); err != nil {
				return err
			}
			return v.compile(ctx, sources, filepath.Join(java, "bin", "java"), jars, dir)
		})
		if err != nil {
			return "", err
		}
	}
	for to, from := range map[string][]string{"conf": {"conf"}, "etc": {"log4j2.xml"}} {
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

// compile makes the main class against the version's own jars.
func (v solrVersion) compile(ctx context.Context, sources, java, jars, dir string) error {
	tmp, err := os.MkdirTemp("", "solr-compiler-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := command(ctx, tmp, nil, "mvn", "-q", "-B", mavenArtifact, "-Dartifact="+solrCompiler,
		"-Dmdep.stripVersion=true", "-DoutputDirectory="+tmp); err != nil {
		return err
	}
	path, err := filepath.Glob(filepath.Join(jars, "*.jar")) // the compiler knows no wildcard
	if err != nil {
		return err
	}
	code, err := filepath.Glob(filepath.Join(sources, "lines", v.line(), "*.java"))
	if err != nil {
		return err
	}
	argv := []string{java, "-jar", filepath.Join(tmp, "ecj.jar"), "-proc:none", "-nowarn", "-source", "17", "-target", "17",
		"-cp", strings.Join(path, ":"), "-d", dir, filepath.Join(sources, "SolrNode.java")}
	return command(ctx, sources, nil, append(argv, code...)...)
}

func (v solrVersion) pom(sources string) string {
	return filepath.Join(sources, "lines", v.line(), "pom.xml")
}

// settings is the solr.xml of the line, or that of all lines without one of their own.
func (v solrVersion) settings(sources string) string {
	own := filepath.Join(sources, "lines", v.line(), "solr.xml")
	if _, err := os.Stat(own); err == nil {
		return own
	}
	return filepath.Join(sources, "solr.xml")
}

func (v solrVersion) jarKey(sources string) string {
	pom, err := os.ReadFile(v.pom(sources))
	if err != nil {
		pom = []byte(err.Error()) // Maven will say it better
	}
	return keyOf(string(pom), v.solr, v.jetty)
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
