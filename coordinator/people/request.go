package people

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/credentials"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A person proves who they are with a CertificateSigningRequest: the API server itself writes into
// it who has created it. It is never approved, and nothing is signed.
const (
	// RequestSigner is the name of a signer that does not exist.
	RequestSigner = "rollcall.dev/asker"
	// requestPrefix is before the digest of the key in the name of a request.
	requestPrefix = "rollcall-asker-"
	// requestScheme stands before a proof in the metadata.
	requestScheme = "Request"
	// exporter is the label of what both ends of a TLS connection know, and nobody else.
	exporter = "EXPORTER-rollcall-asker"
)

// Request is a request that is being created, and its key, which stays in memory. It is credentials
// for gRPC.
type Request struct {
	key    *ecdsa.PrivateKey
	public []byte
}

// NewRequest creates a key.
func NewRequest() (*Request, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	return &Request{key, public}, nil
}

// Object returns what is to be created in the API server.
func (r *Request) Object() (*certificatesv1.CertificateSigningRequest, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: RequestSigner}}, r.key)
	if err != nil {
		return nil, err
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: requestName(digestOf(r.public))},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: RequestSigner,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}, nil
}

// RequireTransportSecurity returns true: there is nothing to prove to an unverified server.
func (*Request) RequireTransportSecurity() bool { return true }

// GetRequestMetadata adds the proof of its connection to each call.
func (r *Request) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	call, _ := credentials.RequestInfoFromContext(ctx)
	info, ok := call.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return nil, errors.New("a proof is for a connection with TLS")
	}
	value, err := r.proof(info.State)
	if err != nil {
		return nil, err
	}
	return map[string]string{Header: value}, nil
}

// proof is the value of the metadata on one connection. It is of no use on another one.
func (r *Request) proof(connection tls.ConnectionState) (string, error) {
	signed, err := signedOn(connection)
	if err != nil {
		return "", err
	}
	signature, err := ecdsa.SignASN1(rand.Reader, r.key, signed)
	if err != nil {
		return "", err
	}
	return requestScheme + " " + base64.RawURLEncoding.EncodeToString(r.public) + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// requestName is that of the request with a key: who lists requests learns of no key, and who has
// not made the request has none.
func requestName(key digest) string { return requestPrefix + hex.EncodeToString(key[:]) }

// signedOn is what a proof signs: it differs for each connection.
func signedOn(connection tls.ConnectionState) ([]byte, error) {
	if connection.Version < tls.VersionTLS13 {
		return nil, errors.New("the connection is not TLS 1.3")
	}
	material, err := connection.ExportKeyingMaterial(exporter, nil, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("keying material of the connection: %w", err)
	}
	hash := sha256.Sum256(append([]byte(RequestSigner+"\n"), material...))
	return hash[:], nil
}

// proven is the key that a proof shows, once its holder has signed on this connection.
func proven(value string, connection tls.ConnectionState) (digest, error) {
	first, second, ok := strings.Cut(value, ".")
	public, err := base64.RawURLEncoding.DecodeString(first)
	if !ok || err != nil {
		return digest{}, errors.New("it is not KEY.SIGNATURE, both base64url")
	}
	signature, err := base64.RawURLEncoding.DecodeString(second)
	if err != nil {
		return digest{}, errors.New("its signature is not base64url")
	}
	key, err := keyOf(x509.ParsePKIXPublicKey(public))
	if err != nil {
		return digest{}, err
	}
	signed, err := signedOn(connection)
	if err != nil {
		return digest{}, err
	}
	if !ecdsa.VerifyASN1(key, signed, signature) {
		return digest{}, errors.New("its signature is not of this key on this connection")
	}
	return digestOf(public), nil
}

func keyOf(public any, err error) (*ecdsa.PublicKey, error) {
	if err != nil {
		return nil, err
	}
	key, ok := public.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("its key is not ECDSA P-256")
	}
	return key, nil
}

// isFor says why a request is not one for the coordinator with this key; the API server has verified
// that its maker had the key.
func isFor(object *certificatesv1.CertificateSigningRequest, key digest) error {
	if object.Spec.SignerName != RequestSigner {
		return fmt.Errorf("its signerName is %s, not %s", object.Spec.SignerName, RequestSigner)
	}
	block, _ := pem.Decode(object.Spec.Request)
	if block == nil {
		return errors.New("there is no PEM in it")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return err
	}
	if digestOf(request.RawSubjectPublicKeyInfo) != key {
		return errors.New("it has another key")
	}
	if request.Subject.CommonName != RequestSigner {
		return fmt.Errorf("its common name is not %s", RequestSigner)
	}
	return nil
}

func digestOf(text []byte) digest { return sha256.Sum256(text) }
