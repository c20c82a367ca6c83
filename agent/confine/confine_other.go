//go:build !linux

package confine

import "errors"

func become([]string, []string) error { return errors.New("only Linux has Landlock") }
