package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// maxDocument bounds what is read; a snapshot of 10,000 pods has some 10 MiB.
const maxDocument = 256 << 20

// ReadDocument reads a document in JSON or YAML, from a file or, when that is
// -, standard input, and decodes it. All errors name the file and exit with
// ExitNotASnapshot.
func (a *App) ReadDocument(file, kind string, decode func(json []byte) error) error {
	data, err := a.ReadFile(file, kind)
	if err == nil {
		data, err = documentJSON(data, kind)
	}
	if err == nil {
		err = notAnObject(data, kind)
	}
	if err == nil {
		err = decode(data)
	}
	if err == nil {
		return nil
	}
	if file == "-" {
		file = "standard input"
	}
	return Exit(ExitNotASnapshot, fmt.Errorf("%s: %w", file, err))
}

// notAnObject refuses Kubernetes objects, such as a DatabaseCluster.
func notAnObject(data []byte, kind string) error {
	var object metav1.TypeMeta
	if json.Unmarshal(data, &object) != nil || object.Kind == "" || object.APIVersion == "" {
		return nil
	}
	return fmt.Errorf("this is a %s (%s), not a %s, which `rollcall %[3]s NAME` prints of a DatabaseCluster", object.Kind, object.APIVersion, kind)
}

// ReadFile reads a file or, when that is -, standard input.
func (a *App) ReadFile(file, kind string) ([]byte, error) {
	in := a.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			// The caller names the file.
			var path *os.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxDocument {
		return nil, fmt.Errorf("more than %d MiB: this is not a %s", maxDocument>>20, kind)
	}
	return data, nil
}

// documentJSON converts the single document in data to JSON. JSON input is returned as it is:
// a round trip through YAML would lose error positions and large numbers.
func documentJSON(data []byte, kind string) ([]byte, error) {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 {
		return nil, fmt.Errorf("empty: must be a %s in JSON or YAML", kind)
	}
	if trimmed[0] == '{' && json.Valid(trimmed) {
		return data, nil
	}
	if err := checkYAML(data, kind); err != nil {
		return nil, err
	}
	converted, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, fmt.Errorf("YAML that is not a %s: %w", kind, err)
	}
	return converted, nil
}
