package node

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
)

// MountsBelow lists the mount points below the folder, the youngest first.
func MountsBelow(dir string) ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return mountsBelow(f, dir)
}

// unmountBelow undoes every mount below the folder.
func unmountBelow(dir string) error {
	points, err := MountsBelow(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range points {
		err := syscall.Unmount(m, 0)
		if err != nil {
			// Something still holds it open. It goes when that lets go; new users do not see it any more.
			err = syscall.Unmount(m, syscall.MNT_DETACH)
		}
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", m, err))
		}
	}
	return errors.Join(errs...)
}

func mountsBelow(mountinfo io.Reader, dir string) ([]string, error) {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []string
	lines := bufio.NewScanner(mountinfo)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 5 {
			continue
		}
		if p := unescape.Replace(f[4]); strings.HasPrefix(p, dir+"/") {
			points = append(points, p)
		}
	}
	slices.Reverse(points)
	return points, lines.Err()
}
