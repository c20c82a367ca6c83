package opensearchtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

var errNoJava = errors.New("no Java to run OpenSearch with")

// java finds a Java that runs this version of OpenSearch: beside it, in JAVA_HOME,
// in PATH, or among Debian's.
func java(home, version string) (string, error) {
	homes := []string{filepath.Join(home, "java"), os.Getenv("JAVA_HOME")}
	if path, err := exec.LookPath("java"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			homes = append(homes, filepath.Dir(filepath.Dir(path)))
		}
	}
	more, _ := filepath.Glob("/usr/lib/jvm/*") // fails for a bad pattern only
	return chooseJava(version, append(homes, more...))
}

func chooseJava(version string, homes []string) (string, error) {
	low, high := javaRange(version)
	for _, home := range homes {
		release, err := os.ReadFile(filepath.Join(home, "release"))
		if home == "" || err != nil {
			continue
		}
		if major := javaMajor(string(release)); major >= low && major <= high {
			return filepath.Join(home, "bin", "java"), nil
		}
	}
	return "", fmt.Errorf("%w %s: it takes Java %d to %d", errNoJava, version, low, high)
}

// javaRange is what runs a version: 2.x needs the security manager, which Java
// 24 has no more.
func javaRange(version string) (low, high int) {
	if strings.HasPrefix(version, "2.") {
		return 11, 23
	}
	return 21, 99
}

// javaMajor reads the file "release" of a Java; 0 when it does not say.
func javaMajor(release string) int {
	for line := range strings.Lines(release) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), `JAVA_VERSION="`); ok {
			major, _ := strconv.Atoi(v[:strings.IndexFunc(v+".", func(r rune) bool { return r < '0' || r > '9' })])
			return major
		}
	}
	return 0
}
