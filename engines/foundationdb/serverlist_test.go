package foundationdb

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
)

// printedKeys is what fdbcli prints of a list with these storage servers.
func printedKeys(ids ...string) string {
	var out strings.Builder
	out.WriteString(">>> option on READ_SYSTEM_KEYS\nOption enabled for all transactions\n>>> option on LOCK_AWARE\nOption enabled for all transactions\n>>> getrangekeys\n")
	fmt.Fprintf(&out, "\nRange limited to %d keys\n", serversAtOnce)
	for _, id := range ids {
		first, _ := strconv.ParseUint(id, 16, 64)
		key := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, first), 0x5c27603132ff0a41)
		out.WriteString("`" + `\xff/serverList/`)
		for _, b := range key {
			switch {
			case b == '\\':
				out.WriteString(`\\`)
			case b < ' ' || b > '~':
				fmt.Fprintf(&out, `\x%02x`, b)
			default:
				out.WriteByte(b)
			}
		}
		out.WriteString("'\n")
	}
	return out.String() + "\n"
}

// TestServerList checks that the list is read as it is printed, and in pages, and that whatever
// else is printed leaves it unknown with words.
func TestServerList(t *testing.T) {
	keys, err := readServerKeys(printedKeys("07c50d2e6684333c", "5c5c5c5c27276060", "0000000000000000"))
	require.NoError(t, err)
	require.Len(t, keys, 3)
	require.Equal(t, uint64(0x07c50d2e6684333c), binary.LittleEndian.Uint64([]byte(keys[0])))
	require.Equal(t, uint64(0x5c5c5c5c27276060), binary.LittleEndian.Uint64([]byte(keys[1])))
	keys, err = readServerKeys(">>> option on READ_SYSTEM_KEYS\nOption enabled for all transactions\n\nRange limited to 1000 keys\n" + // as a 7.1.68 prints it
		"`" + `\xff/serverList/\x01\xee5*\xcf]F\x99\xf6~\x1f\xb4\x11\xfe\x89^'` + "\n" + "`" + `\xff/serverList/\x94\xb4\x03\x98\x9c\x19w\x8bn!Gg\xfc\xe5R\xd1'` + "\n\n")
	require.NoError(t, err)
	require.Len(t, keys, 2)
	require.Equal(t, uint64(0x99465dcf2a35ee01), binary.LittleEndian.Uint64([]byte(keys[0])))
	require.Equal(t, uint64(0x8b77199c9803b494), binary.LittleEndian.Uint64([]byte(keys[1])))
	for name, text := range map[string]string{
		"nothing":           "",
		"another key":       printedKeys() + "`" + `\xff/keyServers/'` + "\n",
		"a longer prefix":   printedKeys() + "`" + `\xff/serverList/0123456789abcdefg'` + "\n",
		"half a key":        printedKeys() + "`" + `\xff/serverList/\x01'` + "\n",
		"a torn escape":     printedKeys() + "`" + `\xff/serverList/0123456789abcde\x'` + "\n",
		"no list's end":     strings.TrimSuffix(printedKeys("07c50d2e6684333c"), "\n"),
		"no end, no server": strings.TrimSuffix(printedKeys(), "\n"),
		"a torn line":       printedKeys() + "`" + `\xff/serverList/0123456789abcdef`,
		"bytes":             "\x00\xff\xfe",
	} {
		_, err := readServerKeys(text)
		require.ErrorIs(t, err, ErrCommand, name)
	}
	for what, c := range map[string]struct{ script, want string }{
		"refused":    {`echo "ERROR: Database is locked (1038)" >&2`, "could not be read: getrangekeys: fdbcli refused: ERROR: Database is locked (1038)"},
		"silent":     {`true`, "fdbcli did not list it"},
		"no timeout": {`echo "Specified timeout reached -- exiting..." >&2; exit 1`, "did not answer in time"},
	} {
		e, dir := scripted(t, `echo ">>> status json"; cat $d/status.json; echo; `+c.script, nil)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "status.json"), []byte(healthy(t).text()), 0o600))
		seen, err := e.client.status(t.Context())
		require.NoError(t, err, what)
		list := seen.list
		require.False(t, list.read, what)
		require.Contains(t, list.why, c.want, what)
		s := &status{list: list}
		require.Contains(t, s.unlisted(), c.want)
	}
	require.NotEmpty(t, (&status{}).unlisted(), "not even asked")
	o := seen(t, healthy(t), allServers[:3])
	require.Equal(t, engines.VerdictUnknown, o.Health.Verdict)
	require.Contains(t, o.Health.Reason, "storage server 0000000000000006 at 10.8.0.13:4500 is in the status and not on the list of storage servers")
	require.Contains(t, (&status{list: serverList{read: true}, processes: []process{{address: "10.0.0.1:4500", ids: []roleID{{role: "storage"}}}}}).unlisted(), "10.0.0.1:4500 has no id")
}

// TestServerListInPages checks that a list longer than one answer is read to its end.
func TestServerListInPages(t *testing.T) {
	var first []string
	for i := range serversAtOnce {
		first = append(first, fmt.Sprintf("%016x", i+1))
	}
	e, dir := scripted(t, `echo "$4" >>$d/calls
if [ -e $d/later ]; then cat $d/second; else cat $d/status.json; echo; cat $d/first; touch $d/later; fi`, nil)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "status.json"), []byte(healthy(t).text()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "first"), []byte(printedKeys(first...)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "second"), []byte(printedKeys("ffffffffffffffff")), 0o600))
	s, err := e.client.status(t.Context())
	require.NoError(t, err)
	list := s.list
	require.True(t, list.read, list.why)
	require.Equal(t, append(first, "ffffffffffffffff"), list.ids)
	data, err := os.ReadFile(filepath.Join(dir, "calls"))
	require.NoError(t, err)
	calls := string(data)
	require.Contains(t, calls, `getrangekeys \xff/serverList/ \xff/serverList0 2000`)
	require.Contains(t, calls, `getrangekeys \xff/serverList/\xd0\x07\x00\x00\x00\x00\x00\x00\x41\x0a\xff\x32\x31\x60\x27\x5c\x00 \xff/serverList0`)
}

// TestLostStorageIsSeenAtOnce checks on a simulated database, with its own fdbcli, that a storage
// server is missed from the first look on, by an agent that has just started too, while the
// document says that all is well; and not any more once its copies are elsewhere.
func TestLostStorageIsSeenAtOnce(t *testing.T) {
	for _, version := range []string{"7.1.67", "6.3.25"} {
		s := simulate(t, fdbsimtest.Options{Version: version, Scale: -1})
		s.Settle()
		lost, other := s.pods[0], s.pods[len(s.pods)-1]
		watching := s.engine(other)
		look := func(e *Engine) engines.Observation {
			o, err := e.Observe(t.Context())
			require.NoError(t, err)
			return o
		}
		look(watching) // how old a recovery is shows from the second look on, in 6.3
		require.Equal(t, engines.VerdictGreen, look(watching).Health.Verdict, version)
		s.Kill(lost)
		silent := 0
		for range 8 { // as long as the database has not noticed
			s.Advance(7 * time.Second)
			if data, err := watching.client.status(t.Context()); err == nil && data.dataState == "healthy" && data.whole() {
				silent++
			}
			for _, e := range []*Engine{watching, s.engine(other)} {
				h := look(e).Health
				require.NotEqual(t, engines.VerdictGreen, h.Verdict, version)
				require.NotEqual(t, engines.VerdictRecoverable, h.Verdict, version)
			}
		}
		require.NotZero(t, silent, "the document says that all is well")
		require.Contains(t, look(watching).Health.Reason, lost+" (zone-a) is away: a storage server that the database counts on is not running")
		s.Settle()
		require.NotContains(t, look(watching).Health.Reason, "storage server", "its copies are elsewhere")
		s.Start(lost)
		s.Settle()
		require.Equal(t, engines.VerdictGreen, look(watching).Health.Verdict, version)
	}
}
