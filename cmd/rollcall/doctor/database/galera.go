package database

import "regexp"

var ignored = regexp.MustCompile(`(?i)\bpc\.ignore_(?:sb|quorum)\s*=\s*(?:true|yes|on|1)\b`)

// IgnoresQuorum returns the option with which members of Galera go on without a majority, and where
// it is set. Empty means that none can be seen.
func (d *Database) IgnoresQuorum() (option, from string) {
	for i := range d.Pools {
		s := &d.Pools[i].Settings
		for _, at := range []Setting{s.set["wsrep_provider_options"], s.copied["wsrep_provider_options"]} {
			if option := ignored.FindString(at.Value); option != "" {
				return option, at.From
			}
		}
	}
	return "", ""
}
