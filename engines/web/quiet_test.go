package web

import (
	"io"
	"log"
)

// quiet is the error log of servers whose failed handshakes are the point of the test.
var quiet = log.New(io.Discard, "", 0)
