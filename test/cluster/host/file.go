package host

import (
	"bytes"
	"os"
	"path/filepath"
)

// WriteFile writes the file whole or not at all, and leaves one that already says the same alone.
func WriteFile(file string, content []byte, mode os.FileMode) error {
	if have, err := os.ReadFile(file); err == nil && bytes.Equal(have, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	next := file + ".next"
	if err := os.WriteFile(next, content, mode); err != nil {
		return err
	}
	return os.Rename(next, file)
}
