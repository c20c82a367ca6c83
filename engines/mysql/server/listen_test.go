package server

import (
	"net"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// listen is a server that does what serve does with each connection.
func listen(t *testing.T, serve func(c net.Conn)) Options {
	return Options{Access: web.Access{Host: "127.0.0.1", Port: mysqltest.Listen(t, serve), Timeout: time.Minute}}
}
