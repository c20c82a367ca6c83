package web

import (
	"io"
	"log"
)

// quiet is for servers whose failed handshakes are the point of the test.
var quiet = log.New(io.Discard, "", 0)
