package fdbreal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The judge's own reading is held by texts as fdbcli prints them, so that it needs no server to be checked.
func TestPairs(t *testing.T) {
	got, err := pairs("\nRange limited to 25 keys\n`a\\x00b' is `\\\\x\\xff'\n`c' is `'\n\n")
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"a\x00b": []byte("\\x\xff"), "c": {}}, got)
	_, err = pairs("`a\\q' is `'\n")
	require.ErrorContains(t, err, "must be")
}

func TestServerIDs(t *testing.T) {
	raw := "\x01\x00\x00\x00" + "\xef\xcd\xab\x89\x67\x45\x23\x01" + "\x00\x00\x00\x00\x00\x00\x00\x00" + "rest"
	ids, rest, err := serverIDs([]byte(raw))
	require.NoError(t, err)
	require.Equal(t, []string{"0123456789abcdef"}, ids)
	require.Equal(t, "rest", string(rest))
	_, _, err = serverIDs([]byte(raw[:19]))
	require.ErrorContains(t, err, "must be 16 bytes each")
}
