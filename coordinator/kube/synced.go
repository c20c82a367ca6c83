package kube

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// For so long a coordinator that starts waits for the pods of a pool: while asking for them
// fails, and while there is no answer at all.
const (
	failsFor  = 5 * time.Second
	silentFor = time.Minute
)

// Synced reports whether the cache knows of all clusters, pools and nodes, and of all pods of all
// clusters, but for those that have been asked for in vain, or are not asked for. Those are their
// own database's trouble, for which Cluster answers false and of which Missing tells, and no reason
// for all others to be without a coordinator.
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

// answered reports whether the pods of a pool are known, or does not have to be waited for.
func (c *Cache) answered(pool Pool) bool {
	w := c.watchOf(pool)
	c.mu.Lock()
	begun := c.begun
	c.mu.Unlock()
	late := func(at time.Time) bool { return !begun.IsZero() && at.Sub(begun) >= silentFor }
	switch {
	case w == nil: // it is about to begin
		return late(time.Now())
	case late(w.began): // it was made since, as somebody may do all the time
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

// watchOf is the watch of a pool's pods, as the pool is now; nil without one.
func (c *Cache) watchOf(pool Pool) *podWatch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.pods[pool.UID]; w != nil && w.pool.selector == pool.selector && pool.refused() == "" {
		return w
	}
	return nil
}

// Missing says what of a DatabaseCluster is not known, for which Cluster answers false; empty
// where all is.
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
