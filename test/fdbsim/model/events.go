package model

// Join is a process that starts: a new one, or one that is known by its instance and may come with another address,
// locality or volume. A volume that is not the one of before takes with it what was there.
func (c *Cluster) Join(p Process) {
	if p.Disk == 0 {
		p.Disk = 1 << 40
	}
	p.Up, p.Since, p.Skipped = true, c.Now, c.Skipped
	c.still = false
	old := c.Process(p.Instance)
	if old == nil {
		c.Processes = append(c.Processes, &p)
		return
	}
	lost := old.Volume != p.Volume
	*old = p
	if lost {
		c.bury()
	}
}

// Kill takes a process away. Its volume stays.
func (c *Cluster) Kill(instance string) {
	if p := c.Process(instance); p != nil && p.Up {
		p.Up, p.Since, p.Skipped = false, c.Now, c.Skipped
		c.still = false
	}
}

// Start brings a process back on its volume, as it was.
func (c *Cluster) Start(instance string) {
	if p := c.Process(instance); p != nil && !p.Up {
		p.Up, p.Since, p.Skipped, p.Messages = true, c.Now, c.Skipped, nil
		c.still = false
	}
}

// Reboot is a process that ends and starts within an instant, as after the command kill.
func (c *Cluster) Reboot(instance string) {
	c.Kill(instance)
	c.Start(instance)
	if p := c.Process(instance); p != nil {
		// Told from the process that ended at this very instant.
		p.Since++
	}
}

// LoseVolume takes what the volume of a process holds. The process gets an empty one, named volume.
func (c *Cluster) LoseVolume(instance, volume string) {
	if p := c.Process(instance); p != nil {
		p.Volume = volume
		c.still = false
		c.bury()
	}
}
