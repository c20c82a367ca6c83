package model

import "time"

// Maintain puts a zone under maintenance, instead of another that may be.
func (c *Cluster) Maintain(zone string, d time.Duration) {
	c.Maintenance = Maintenance{Zone: zone, Until: c.Now + d}
	c.still = false
}

// EndMaintenance ends it.
func (c *Cluster) EndMaintenance() {
	c.Maintenance = Maintenance{}
	c.still = false
}

// expireMaintenance ends it when its time is over, or a storage server of another zone fails.
func (c *Cluster) expireMaintenance() {
	if c.Maintenance.Zone == "" {
		return
	}
	over := c.Now >= c.Maintenance.Until
	for _, s := range c.Servers {
		over = over || c.zoneOf(s) != c.Maintenance.Zone && c.failed(s)
	}
	if over {
		c.Maintenance = Maintenance{}
		c.changed()
	}
}
