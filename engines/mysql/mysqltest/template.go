package mysqltest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// template returns an initialised data folder with the accounts, made once for a
// home: that takes seconds, a copy does not.
func (f flavor) template(home string) (string, error) {
	sql := passwords(f.accounts)
	key := sha256.Sum256([]byte(sql + strings.Join(f.initialize("", "", ""), "\n")))
	dir := filepath.Join(home, fmt.Sprintf("template-%x", key[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	next, err := os.MkdirTemp(home, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(next)
	accounts, data := filepath.Join(next, "accounts.sql"), filepath.Join(next, "data")
	if err := os.WriteFile(accounts, []byte(sql), 0o644); err != nil {
		return "", err
	}
	argv := f.initialize(data, next, accounts)
	if out, err := exec.Command(filepath.Join(home, "bin", argv[0]), argv[1:]...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", argv[0], err, out[max(0, len(out)-3000):])
	}
	// The server's identity, which each makes for itself.
	if err := os.Remove(filepath.Join(data, "auto.cnf")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.Rename(data, dir); err != nil && !errors.Is(err, fs.ErrExist) { // another test made it meanwhile
		return "", err
	}
	return dir, nil
}
