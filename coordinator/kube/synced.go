package kube

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// How long a starting coordinator waits for the pods of a pool: while listing them fails, and while
// there is no answer at all.
const (
	failsFor  = 5 * time.Second
	silentFor = time.Minute
)

// Synced reports whether the cache knows all clusters, pools and nodes, and all pods of all
// clusters, except those that could not be listed, or are not listed. These only concern their own
// database, for which Cluster returns false and which Missing explains; the others must not be
// without a coordinator because of them.
func (c *Cache) Synced() bool {
	if !c.KnowsClusters() {
		return false
	}
	for _, key := range c.Clusters() {
		if c.tooMany(key) > 0 {
			continue
		}
		for _, pool := range c.poolsOf(key) {
			if c.refused(pool) == "" && !c.answered(pool) {
				return false
			}
		}
	}
	return true
}

// answered reports whether the pods of a pool are known, or do not have to be awaited.
func (c *Cache) answered(pool Pool) bool {
	w := c.watchOf(pool)
	c.mu.Lock()
	begun := c.begun
	c.mu.Unlock()
	late := func(at time.Time) bool { return !begun.IsZero() && at.Sub(begun) >= silentFor }
	switch {
	case w == nil: // it is about to begin
		return late(time.Now())
	case late(w.began): // it was created since, which may happen at any time
		return true
	case w.synced():
		return true
	}
	c.mu.Lock()
	failing := w.failing
	c.mu.Unlock()
	return !failing.IsZero() && time.Since(failing) >= failsFor || time.Since(w.began) >= silentFor
}

// begin notes that all pools are known.
func (c *Cache) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = time.Now()
}

// watchOf returns the watch of a pool's pods, as the pool is now, or nil.
func (c *Cache) watchOf(pool Pool) *podWatch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.pods[pool.UID]; w != nil && w.pool.selector == pool.selector && pool.refused() == "" {
		return w
	}
	return nil
}

// Missing says what is not known about a DatabaseCluster for which Cluster returns false. It is
// empty if everything is known.
func (c *Cache) Missing(key Key) string {
	if n := c.tooMany(key); n > 0 {
		return fmt.Sprintf("it has %d StatefulSets, and Rollcall follows at most %d of one DatabaseCluster: take the label %s off those that are not of this database",
			n, MaxPools, v1alpha1.LabelCluster)
	}
	pools := c.poolsOf(key)
	for _, pool := range pools {
		why := c.refused(pool)
		if w := c.watchOf(pool); why == "" {
			if w != nil && w.synced() {
				continue
			}
			why = c.problemOf(w)
		}
		return fmt.Sprintf("the pods of StatefulSet %s are not known: %s", pool.Name, why)
	}
	if pods, known := c.podsOf(pools); known {
		if n := missing(pools, pods); n > MaxMissing {
			return fmt.Sprintf("its StatefulSets want %d pods more than the %d that there are, and Rollcall decides with at most %d missing: "+
				"lower spec.replicas, or wait until there are more", n, len(pods), MaxMissing)
		}
	}
	return ""
}

func (c *Cache) problemOf(w *podWatch) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w == nil || w.problem == "" {
		return "the API server has not listed them"
	}
	return w.problem
}
