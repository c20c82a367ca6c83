package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

const timeoutReached = "Specified timeout reached -- exiting...\n"

// run does the commands of a line, or what fault it meets instead. An error means that the time was over.
func (s *session) run(ctx context.Context, line string) (int, error) {
	// When nobody answers there is no fault to meet, and each command finds out by itself.
	if reply, err := s.db.Ask(ctx, s.signed(wire.Request{Op: wire.Open, Exec: line})); err == nil {
		s.fault = reply.Fault
	}
	switch s.fault {
	case wire.Hang:
		<-ctx.Done()
		return exitFailed, ctx.Err()
	case wire.HangForEver:
		s.Deaf()
		for {
			time.Sleep(time.Hour)
		}
	case wire.Garbage:
		_, err := s.Stdout.Write(bytes.Repeat([]byte{0xff, 0x00, '<', 0xfe, '{', 0x80, '\n'}, 50))
		return exitDone, err
	case wire.Endless:
		return exitFailed, endless(s.Stdout, line)
	case wire.Fail:
		fmt.Fprint(s.Stderr, "ERROR: An internal error occurred (4100)\n")
		return exitFailed, nil
	case wire.LongDelay:
		s.status = strings.HasPrefix(strings.TrimSpace(line), "status")
		s.warn()
		if !s.status {
			s.tellOfDatabase(ctx)
		}
	case wire.Truncated:
		return s.half(ctx, line)
	case wire.LostAnswer:
		to := s.Stderr
		s.Stdout, s.Stderr = io.Discard, io.Discard
		_, err := s.perform(ctx, line)
		if err == nil {
			fmt.Fprint(to, timeoutReached)
		}
		s.Stderr = to
		return exitFailed, err
	}
	return s.perform(ctx, line)
}

// half prints the first half of what would be printed.
func (s *session) half(ctx context.Context, line string) (int, error) {
	to := s.Stdout
	var all bytes.Buffer
	s.Stdout = &all
	code, err := s.perform(ctx, line)
	if err == nil {
		_, err = to.Write(all.Bytes()[:all.Len()/2])
	}
	return code, err
}

// endless prints until nobody takes it any more: of a status, a document that never closes.
func endless(to io.Writer, line string) error {
	begin, more := "", strings.Repeat("  10.0.0.1:4500  ---- still working\n", 100)
	if strings.Contains(line, "json") {
		begin, more = "{\n    \"cluster\" : {\n        \"messages\" : [\n", strings.Repeat("            { \"name\" : \"more\" },\n", 100)
	}
	_, err := io.WriteString(to, begin)
	for err == nil {
		_, err = io.WriteString(to, more)
	}
	return err
}
