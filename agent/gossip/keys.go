package gossip

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

const (
	keyBytes = 32
	// keyGrace is how long a key is accepted after it is no longer listed. The files of a Secret
	// arrive at each pod at another time, up to two minutes apart, and until then peers go on
	// sending with that key.
	keyGrace = 5 * time.Minute
	// keySweep is how often keys are checked for the end of their grace.
	keySweep = 30 * time.Second
)

// keys are those that a member sends and receives with, kept in the keyring that
// memberlist reads for every packet.
type keys struct {
	ring *memberlist.Keyring

	mu      sync.Mutex
	retired map[string]time.Time // when a key that the ring still has was last listed
}

func newKeys(list [][]byte) (*keys, error) {
	if err := checkKeys(list); err != nil {
		return nil, err
	}
	ring, err := memberlist.NewKeyring(list, list[0])
	if err != nil {
		return nil, err
	}
	return &keys{ring: ring, retired: map[string]time.Time{}}, nil
}

func checkKeys(list [][]byte) error {
	if len(list) == 0 {
		return errors.New("a gossip key is required; only insecure development runs without one")
	}
	for _, key := range list {
		if len(key) != keyBytes {
			return fmt.Errorf("gossip key has %d bytes; it must have %d", len(key), keyBytes)
		}
	}
	return nil
}

// use encrypts with the first key of the list from now on, and decrypts with all.
func (k *keys) use(list [][]byte) error {
	if err := checkKeys(list); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range list {
		if err := k.ring.AddKey(key); err != nil {
			return err
		}
		delete(k.retired, string(key))
	}
	if err := k.ring.UseKey(list[0]); err != nil {
		return err
	}
	for _, key := range k.ring.GetKeys() {
		listed := slices.ContainsFunc(list, func(l []byte) bool { return string(l) == string(key) })
		if _, known := k.retired[string(key)]; !listed && !known {
			k.retired[string(key)] = time.Now()
		}
	}
	return nil
}

// sweep forgets the keys whose grace is over, until ctx ends.
func (k *keys) sweep(ctx context.Context) {
	ticker := time.NewTicker(keySweep)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			k.forget(now)
		}
	}
}

func (k *keys) forget(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, since := range k.retired {
		// Only the key that is sent with cannot be removed, and that one is listed.
		if now.Sub(since) >= keyGrace && k.ring.RemoveKey([]byte(key)) == nil {
			delete(k.retired, key)
		}
	}
}

// Rekey sets new keys; the first one encrypts. No member is cut off while every member has the
// others' first key among its own, or had it less than five minutes ago.
func (m *Mesh) Rekey(list [][]byte) error {
	if m.keys == nil {
		return errors.New("gossip: encryption cannot be turned on while running")
	}
	if err := m.keys.use(list); err != nil {
		return fmt.Errorf("gossip: %w", err)
	}
	return nil
}
