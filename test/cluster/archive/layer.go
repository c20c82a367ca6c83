package archive

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// File is something in a layer: a directory when Mode says so, a file of Content, or a copy of the file or the whole
// tree at From.
type File struct {
	Path    string // in the image, without leading slash
	Content []byte
	From    string
	Mode    fs.FileMode // zero means 0644, or what From has
	UID     int         // owner, and group of the same number
}

// WriteLayer writes a layer whose bytes depend on nothing but the paths, contents and modes: no times, no owners of the
// machine that made it. Directories above a file are made.
func WriteLayer(w io.Writer, files ...File) error {
	all, err := expand(files)
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	for _, f := range all {
		if err := f.write(t); err != nil {
			return fmt.Errorf("layer entry %s: %w", f.Path, err)
		}
	}
	return t.Close()
}

// expand turns trees into entries, adds directories, and sorts.
func expand(files []File) ([]File, error) {
	entries := map[string]File{}
	for _, f := range files {
		f.Path = strings.Trim(path.Clean("/"+f.Path), "/")
		if f.From == "" {
			entries[f.Path] = f
			continue
		}
		err := filepath.WalkDir(f.From, func(from string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(f.From, from)
			if err != nil {
				return err
			}
			e := File{Path: path.Join(f.Path, filepath.ToSlash(rel)), From: from, Mode: f.Mode, UID: f.UID}
			if d.IsDir() {
				e.From, e.Mode = "", fs.ModeDir|0o755
			}
			entries[e.Path] = e
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for p := range entries {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if _, ok := entries[dir]; !ok {
				entries[dir] = File{Path: dir, Mode: fs.ModeDir | 0o755}
			}
		}
	}
	var all []File
	for _, e := range entries {
		all = append(all, e)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	return all, nil
}

func (f File) write(t *tar.Writer) error {
	h := &tar.Header{Name: f.Path, Uid: f.UID, Gid: f.UID, Format: tar.FormatPAX}
	if f.Mode.IsDir() {
		h.Name, h.Typeflag, h.Mode = f.Path+"/", tar.TypeDir, unixMode(f.Mode)
		return t.WriteHeader(h)
	}
	h.Typeflag, h.Mode = tar.TypeReg, 0o644
	if f.Mode != 0 {
		h.Mode = unixMode(f.Mode)
	}
	if f.From == "" {
		h.Size = int64(len(f.Content))
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := t.Write(f.Content)
		return err
	}
	src, err := os.Open(f.From)
	if err != nil {
		return err
	}
	defer src.Close()
	st, err := src.Stat()
	if err != nil {
		return err
	}
	h.Size = st.Size()
	if f.Mode == 0 && st.Mode()&0o111 != 0 {
		h.Mode = 0o755
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, src)
	return err
}

func unixMode(m fs.FileMode) int64 {
	mode := int64(m.Perm())
	if m&fs.ModeSticky != 0 {
		mode |= 0o1000
	}
	return mode
}
