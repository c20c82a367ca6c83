package model

func (c *Cluster) roleNames() []string {
	if c.Version.SplitProxies() {
		return []string{"cluster_controller", "master", "data_distributor", "ratekeeper", "commit_proxy", "grv_proxy", "resolver"}
	}
	return []string{"cluster_controller", "master", "data_distributor", "ratekeeper", "proxy", "resolver"}
}

// recruitRoles gives a process for each of roleNames. What is excluded is taken when there is nothing else.
func (c *Cluster) recruitRoles() []*Process {
	var best []*Process
	for _, excluded := range []bool{false, true} {
		for _, class := range []Class{Stateless, Transaction, LogClass, Unset, Storage} {
			for _, p := range c.Processes {
				if p.Class == class && c.joined(p) && c.isExcluded(p) == excluded {
					best = append(best, p)
				}
			}
			if len(best) > 0 {
				out := make([]*Process, len(c.roleNames()))
				for i := range out {
					out[i] = best[len(best)-1-i%len(best)]
				}
				return out
			}
		}
	}
	return nil
}
