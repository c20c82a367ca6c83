package scrapes

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Read gives each scrape of a recording to a function, in their order.
func Read(file string, each func(Scrape) error) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var s *Scrape
	var text strings.Builder
	give := func() error {
		if s == nil {
			return nil
		}
		s.Text = text.String()
		text.Reset()
		return each(*s)
	}
	lines := bufio.NewScanner(unpacked)
	for lines.Scan() {
		head, begins := strings.CutPrefix(lines.Text(), Mark)
		if !begins {
			text.WriteString(lines.Text() + "\n")
			continue
		}
		if err := give(); err != nil {
			return err
		}
		s = &Scrape{}
		if err := json.Unmarshal([]byte(head), s); err != nil {
			return fmt.Errorf("%s: %s: %w", file, lines.Text(), err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil // it broke off; the last answer may be half of one
	case err != nil:
		return fmt.Errorf("%s: %w", file, err)
	}
	return give()
}
