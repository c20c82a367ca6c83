package siege

import (
	"bytes"
	"compress/lzw"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"
)

// gossipKey is that of the attacked database.
var gossipKey = bytes.Repeat([]byte{5}, 32)

// gossipStreams opens streams without the key that announce as much as is taken, send
// so much of it, and stay open.
func gossipStreams(count, send int, labelled bool) func(context.Context, *ring) {
	return func(ctx context.Context, r *ring) {
		head := []byte{10, 0x01, 0x3f, 0xff, 0xff} // encrypted, 20 MiB less a byte
		if labelled {
			head = append(bytes.Clone(r.label), head...)
		}
		r.streams(ctx, count, func(ctx context.Context) {
			stream(ctx, net.JoinHostPort("127.0.0.2", r.port), head, send)
		})
	}
}

// streams has so many attackers do something again and again.
func (r *ring) streams(ctx context.Context, count int, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, lasts()+2*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			for ctx.Err() == nil && r.attacked.alive() {
				do(ctx)
			}
		})
	}
	all.Wait()
}

func stream(ctx context.Context, address string, head []byte, send int) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		pause(ctx, 50*time.Millisecond)
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()
	if _, err := conn.Write(head); err != nil {
		return
	}
	part := make([]byte, 64<<10)
	for ; send > 0; send -= len(part) {
		if _, err := conn.Write(part[:min(send, len(part))]); err != nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, conn) // until the other side has enough
}

// bombs come with the key, and are small on the wire: an exchange that announces a
// million members, and one that is compressed.
func bombs(t *testing.T) [][]byte {
	exchange := packed(t, 6, map[string]any{"Nodes": 1 << 20, "UserStateLen": 0, "Join": false})
	var zip bytes.Buffer
	w := lzw.NewWriter(&zip, lzw.LSB, 8)
	_, err := w.Write(make([]byte, 100<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return [][]byte{exchange, packed(t, 9, map[string]any{"Algo": 0, "Buf": zip.Bytes()})}
}

func packed(t *testing.T, kind byte, body any) []byte {
	var b bytes.Buffer
	b.WriteByte(kind)
	require.NoError(t, codec.NewEncoder(&b, &codec.MsgpackHandle{}).Encode(body))
	return b.Bytes()
}

// sealed is a message of a stream as who has the key sends it.
func (r *ring) sealed(plain []byte) []byte {
	const version, nonce, tag = 1, 12, 16
	head := binary.BigEndian.AppendUint32([]byte{10}, uint32(1+nonce+len(plain)+tag))
	block, err := aes.NewCipher(gossipKey)
	require.NoError(r.t, err)
	gcm, err := cipher.NewGCM(block)
	require.NoError(r.t, err)
	body := gcm.Seal(append([]byte{version}, make([]byte, nonce)...), make([]byte, nonce), plain, append(bytes.Clone(head), r.label[2:]...))
	return append(append(bytes.Clone(r.label), head...), body...)
}

// keyedStreams has three of who have the key send bombs, one after another.
func keyedStreams(ctx context.Context, r *ring) {
	for _, bomb := range bombs(r.t) {
		message := r.sealed(bomb)
		r.t.Logf("%d bytes with the key", len(message))
		half, cancel := context.WithTimeout(ctx, lasts()/2)
		r.streams(half, 3, func(ctx context.Context) {
			stream(ctx, net.JoinHostPort("127.0.0.2", r.port), message, 0)
			pause(ctx, 50*time.Millisecond)
		})
		cancel()
	}
}
