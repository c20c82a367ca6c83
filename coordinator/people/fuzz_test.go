package people

import (
	"crypto/tls"
	"encoding/pem"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
)

func FuzzProof(f *testing.F) {
	request, err := NewRequest()
	if err != nil {
		f.Fatal(err)
	}
	object, err := request.Object()
	if err != nil {
		f.Fatal(err)
	}
	block, _ := pem.Decode(object.Spec.Request)
	f.Add("AAAA.AAAA", object.Spec.Request)
	f.Add("", block.Bytes)
	f.Add("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE.", []byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"))
	f.Fuzz(func(t *testing.T, value string, text []byte) {
		if _, err := proven(value, tls.ConnectionState{}); err == nil {
			t.Fatal("a proof without a connection")
		}
		if isFor(&certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: RequestSigner, Request: text}}, digest{1}) == nil {
			t.Fatal("a request for a key that nobody has")
		}
	})
}
