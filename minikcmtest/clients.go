package minikcmtest

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// ConfigFor returns the configuration of an in-process client that acts as user in groups. Its requests pass the transports of
// WrapClients.
func (c *Cluster) ConfigFor(user string, groups ...string) *rest.Config {
	config := c.Cluster.ConfigFor(user, groups...)
	for _, wrap := range c.wrappers {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return wrap(user, next) })
	}
	return config
}

// WrapClients passes the requests of clients whose configuration ConfigFor makes from now on, such as the managers of ctrltest,
// through the transport that wrap returns: a client then sees answers that the API server did not give, or gives none. The last
// wrapper sees a request first. It must not be called while ConfigFor is.
func (c *Cluster) WrapClients(wrap func(user string, next http.RoundTripper) http.RoundTripper) {
	c.wrappers = append(c.wrappers, wrap)
}
