package wire

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConnectionStrings(t *testing.T) {
	for text, want := range map[string]Connection{
		"fdb:abc@10.0.0.1:4500":                             {"fdb", "abc", []string{"10.0.0.1:4500"}},
		"# a comment\n\nfdb:abc@10.0.0.1:4500,fdb-1.f:4500": {"fdb", "abc", []string{"10.0.0.1:4500", "fdb-1.f:4500"}},
		"a_1:B2@10.0.0.1:4500:tls\n":                        {"a_1", "B2", []string{"10.0.0.1:4500"}},
	} {
		got, err := ParseConnection(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		again, err := ParseConnection(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for _, text := range []string{"", "#", "fdb@10.0.0.1:4500", "fdb:abc@", "fdb:abc@10.0.0.1", "fdb:abc@:4500", "f-b:abc@10.0.0.1:4500", "fdb:abc@a:1,", "{}"} {
		_, err := ParseConnection(text)
		require.ErrorIs(t, err, ErrConnectionString, text)
	}
}

func FuzzParseConnection(f *testing.F) {
	f.Add("fdb:abc@10.0.0.1:4500,fdb-1.f:4500:tls")
	f.Add("# nothing\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConnection(text)
		if err != nil {
			return
		}
		again, err := ParseConnection(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

func TestClusterFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "fdb.cluster")
	_, err := ReadClusterFile(file)
	require.ErrorIs(t, err, ErrNoClusterFile)
	require.NoError(t, WriteClusterFile(file, "fdb:abc@10.0.0.1:4500"))
	c, err := ReadClusterFile(file)
	require.NoError(t, err)
	require.Equal(t, "fdb:abc", c.Key())
	before, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, WriteClusterFile(file, "fdb:abc@10.0.0.1:4500"))
	after, err := os.Stat(file)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "what is there already is not written again")
	require.NoError(t, WriteClusterFile(file, "fdb:def@10.0.0.2:4500"))
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.Error(t, WriteClusterFile(filepath.Join(dir, "none", "fdb.cluster"), "x"))
}

func TestPostAndServe(t *testing.T) {
	server := httptest.NewServer(Serve(func(_ context.Context, r Request) (Reply, error) {
		if r.Op == "broken" {
			return Reply{}, errors.New("broken")
		}
		return Reply{Value: r.Key + "!"}, nil
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	var reply Reply
	require.NoError(t, Post(t.Context(), NewClient(), address, PathAsk, Request{Key: "a"}, &reply))
	require.Equal(t, "a!", reply.Value)
	require.ErrorContains(t, Post(t.Context(), NewClient(), address, PathAsk, Request{Op: "broken"}, &reply), "502")
	response, err := http.Post(server.URL, "application/json", strings.NewReader("nonsense"))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
	server.Close()
	require.Error(t, Post(t.Context(), NewClient(), address, PathAsk, Request{}, &reply))
}
