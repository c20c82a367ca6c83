package image

import (
	"context"
	"fmt"
	"strings"
)

// SQLHome makes a folder from which a version of MySQL or MariaDB can be run without a container:
//
//	bin/   mysqld, mysql, mysqladmin, or mariadbd, mariadb, mariadb-install-db; each becomes the program
//	root/  what they need
type SQLHome struct {
	// Version is the version in the words of its makers: 8.0, 11.4.
	Version string
	make    func(Builder, context.Context) (string, error)
}

// Make returns the folder.
func (h SQLHome) Make(ctx context.Context, b Builder) (string, error) { return h.make(b, ctx) }

func (s sqlServer) home(version string) SQLHome {
	return SQLHome{Version: version, make: func(b Builder, ctx context.Context) (string, error) { return b.sqlHome(ctx, s) }}
}

func (s jarServer) home(version string) SQLHome {
	return SQLHome{Version: version, make: func(b Builder, ctx context.Context) (string, error) { return b.jarHome(ctx, s) }}
}

// MySQLHomes and MariaDBHomes are the versions that can be had; the first is that of the image.
var (
	MySQLHomes   = []SQLHome{mysqlServer.home("9"), mysql80.home("8.0")}
	MariaDBHomes = []SQLHome{mariadbServer.home("10.11"), mariadb114.home("11.4"), mariadb118.home("11.8")}
)

// HomeOf returns the home of a version; empty means that of the image.
func HomeOf(homes []SQLHome, version string) (SQLHome, error) {
	var versions []string
	for _, h := range homes {
		if version == "" || version == h.Version {
			return h, nil
		}
		versions = append(versions, h.Version)
	}
	return SQLHome{}, fmt.Errorf("no version %s: there are %s", version, strings.Join(versions, ", "))
}

// mariadb118 is that of Debian 13, whose packages bring its libraries.
var mariadb118 = sqlServer{
	name: "mariadb-11.8", title: "MariaDB", suite: "trixie",
	packages: mariadbServer.packages[:2:2], oldest: [2]int{11, 8},
	programs: append(mariadbPrograms, "mariadb-upgrade", "mariadb-check"),
	parts:    append(mariadbParts, "./usr/bin/mariadb-upgrade", "./usr/bin/mariadb-check", "./usr/share/mariadb"),
}
