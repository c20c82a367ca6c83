package zookeepertest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
)

// makeCertificates makes a CA, and a certificate of the servers and one of a client.
func (e *Ensemble) makeCertificates() {
	signer := authority.New(e.t, "zookeepertest CA")
	certificate, key := signer.Issue(authority.Leaf{Name: "server"})
	e.CA = signer.CA
	e.Client, e.ClientKey = signer.Issue(authority.Leaf{Name: "client"})
	e.write("server.pem", key+certificate)
	e.write("ca.pem", e.CA)
}

func (e *Ensemble) write(name, text string) {
	require.NoError(e.t, os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600))
}

func (e *Ensemble) tlsLines(s *Server) []string {
	auth := "none"
	if e.options.ClientCertificates {
		auth = "need"
	}
	return []string{
		fmt.Sprint("secureClientPort=", s.Port), "secureClientPortAddress=127.0.0.1",
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory", "ssl.clientAuth=" + auth, "ssl.hostnameVerification=false", "ssl.clientHostnameVerification=false",
		"ssl.keyStore.location=" + filepath.Join(e.dir, "server.pem"), "ssl.trustStore.location=" + filepath.Join(e.dir, "ca.pem"),
	}
}
