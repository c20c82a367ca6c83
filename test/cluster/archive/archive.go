// Package archive writes container images without a container engine: layers as tar files with the same bytes for the
// same content, and images of such layers as one docker-archive, the format that `docker load`, `kind load
// image-archive` and `ctr images import` read.
package archive

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
)

// Image is what goes into the archive under one name.
type Image struct {
	Name   string  // with registry and tag: docker.io/rollcall-test/solr:9.10.1
	Layers []Layer // the lowest first
	Config Config
}

// Config is the part of an image's configuration that is used here; see the OCI image specification.
type Config struct {
	User         string              `json:"User,omitempty"`
	Env          []string            `json:"Env,omitempty"`
	Entrypoint   []string            `json:"Entrypoint,omitempty"`
	Cmd          []string            `json:"Cmd,omitempty"`
	WorkingDir   string              `json:"WorkingDir,omitempty"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts,omitempty"`
}

// Layer is an uncompressed tar file on disk.
type Layer struct {
	File   string
	SHA256 string
	Size   int64 // bytes
}

// OpenLayer reads the file once to learn its digest.
func OpenLayer(file string) (Layer, error) {
	f, err := os.Open(file)
	if err != nil {
		return Layer{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return Layer{}, fmt.Errorf("read layer %s: %w", file, err)
	}
	return Layer{File: file, SHA256: hex.EncodeToString(h.Sum(nil)), Size: n}, nil
}

type manifestEntry struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// Write writes all images into one archive; a layer that several share is there once.
func Write(w io.Writer, images ...Image) error {
	t := tar.NewWriter(w)
	var manifest []manifestEntry
	done := map[string]bool{}
	for _, img := range images {
		config, err := configuration(img)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(config)
		e := manifestEntry{Config: hex.EncodeToString(sum[:]) + ".json", RepoTags: []string{img.Name}}
		if !done[e.Config] {
			done[e.Config] = true
			if err := addBytes(t, e.Config, config); err != nil {
				return err
			}
		}
		for _, l := range img.Layers {
			name := l.SHA256 + ".tar"
			e.Layers = append(e.Layers, name)
			if done[name] {
				continue
			}
			done[name] = true
			if err := addFile(t, name, l); err != nil {
				return err
			}
		}
		manifest = append(manifest, e)
	}
	b, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	if err := addBytes(t, "manifest.json", b); err != nil {
		return err
	}
	return t.Close()
}

func configuration(img Image) ([]byte, error) {
	type rootfs struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
	c := struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
		Config       Config `json:"config"`
		RootFS       rootfs `json:"rootfs"`
	}{runtime.GOARCH, "linux", img.Config, rootfs{Type: "layers", DiffIDs: []string{}}}
	for _, l := range img.Layers {
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, "sha256:"+l.SHA256)
	}
	return json.Marshal(c)
}

func addBytes(t *tar.Writer, name string, b []byte) error {
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(b)), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := t.Write(b)
	return err
}

func addFile(t *tar.Writer, name string, l Layer) error {
	f, err := os.Open(l.File)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: l.Size, Format: tar.FormatPAX}); err != nil {
		return err
	}
	if _, err := io.Copy(t, f); err != nil {
		return fmt.Errorf("layer %s changed while it was packed: %w", l.File, err)
	}
	return nil
}

// Tags reads the image names out of an archive.
func Tags(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := tar.NewReader(f)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil, fmt.Errorf("%s: no manifest.json in it; a docker-archive is expected, as `docker save` writes it", file)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: not a tar archive: %w", file, err)
		}
		if h.Name != "manifest.json" {
			continue
		}
		var m []manifestEntry
		if err := json.NewDecoder(io.LimitReader(t, 1<<20)).Decode(&m); err != nil {
			return nil, fmt.Errorf("%s: manifest.json: %w", file, err)
		}
		var tags []string
		for _, e := range m {
			tags = append(tags, e.RepoTags...)
		}
		return tags, nil
	}
}
