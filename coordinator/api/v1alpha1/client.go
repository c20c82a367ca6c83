package v1alpha1

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
)

// Clients gives access to the DatabaseClusters of one namespace, or of all
// with the empty name (for List and Watch). Client implements it, and for
// tests the type Clients of package fake.
//
// +kubebuilder:object:generate=false
type Clients interface {
	DatabaseClusters(namespace string) DatabaseClusters
}

// DatabaseClusters are the requests that Rollcall makes.
//
// +kubebuilder:object:generate=false
type DatabaseClusters interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*DatabaseCluster, error)
	List(ctx context.Context, opts metav1.ListOptions) (*DatabaseClusterList, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	Create(ctx context.Context, cluster *DatabaseCluster, opts metav1.CreateOptions) (*DatabaseCluster, error)
	Update(ctx context.Context, cluster *DatabaseCluster, opts metav1.UpdateOptions) (*DatabaseCluster, error)
	UpdateStatus(ctx context.Context, cluster *DatabaseCluster, opts metav1.UpdateOptions) (*DatabaseCluster, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*DatabaseCluster, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Client talks to an API server.
//
// +kubebuilder:object:generate=false
type Client struct{ rest rest.Interface }

// NewForConfig makes a client out of how to reach an API server. The
// configuration is copied.
func NewForConfig(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = codecs.WithoutConversion()
	// The API server knows custom resources as JSON only.
	config.ContentType = "application/json"
	config.AcceptContentTypes = "application/json"
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &Client{rest: client}, nil
}

// DatabaseClusters implements Clients.
func (c *Client) DatabaseClusters(namespace string) DatabaseClusters {
	return gentype.NewClientWithList(
		Resource, c.rest, parameterCodec, namespace,
		func() *DatabaseCluster { return &DatabaseCluster{} },
		func() *DatabaseClusterList { return &DatabaseClusterList{} },
	)
}

var _ Clients = (*Client)(nil)
