// Package credentials reads the user and password with which an adapter logs in to its database. It
// reads them each time, and never prints them.
package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Source returns the user and password as they are now. An empty user means
// anonymous.
type Source func() (user string, password Secret, err error)

// FromDir reads the files "username" and "password" of a mounted Secret each time. If neither file
// exists, the user is anonymous.
func FromDir(dir string) Source { return FromFiles(dir, "") }

// FromFiles is FromDir for files whose names begin with a prefix.
func FromFiles(dir, prefix string) Source {
	userFile, passwordFile := filepath.Join(dir, prefix+"username"), filepath.Join(dir, prefix+"password")
	return func() (string, Secret, error) {
		user, userErr := readLine(userFile)
		password, passwordErr := readLine(passwordFile)
		if errors.Is(userErr, fs.ErrNotExist) && errors.Is(passwordErr, fs.ErrNotExist) {
			return "", Secret{}, nil
		}
		if err := errors.Join(userErr, passwordErr); err != nil {
			return "", Secret{}, fmt.Errorf("read credentials: %w", err)
		}
		if user == "" {
			return "", Secret{}, fmt.Errorf("read credentials: %s is empty", userFile)
		}
		return user, NewSecret(password), nil
	}
}

// readLine drops the line end that editors and shells leave in such files.
func readLine(path string) (string, error) {
	data, err := os.ReadFile(path)
	return strings.TrimRight(string(data), "\r\n"), err
}
