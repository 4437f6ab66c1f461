package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
)

// kubeconfig holds the fields that are read from a kubeconfig in JSON. Data fields are base64 in the file.
type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server    string `json:"server"`
			Authority []byte `json:"certificate-authority-data"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Certificate []byte `json:"client-certificate-data"`
			Key         []byte `json:"client-key-data"`
		} `json:"user"`
	} `json:"users"`
}

// connect returns the address and a client of a kubeconfig's cluster.
func connect(file string) (address string, client *http.Client, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	var config kubeconfig
	if err := json.Unmarshal(data, &config); err != nil || len(config.Clusters) == 0 || len(config.Users) == 0 {
		return "", nil, fmt.Errorf("reading the kubeconfig %s: it has no cluster and user of minikcm: %w", file, err)
	}
	cluster, user := config.Clusters[0].Cluster, config.Users[0].User
	certificate, err := tls.X509KeyPair(user.Certificate, user.Key)
	if err != nil {
		return "", nil, fmt.Errorf("reading the certificate in the kubeconfig %s: %w", file, err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(cluster.Authority) {
		return "", nil, fmt.Errorf("reading the kubeconfig %s: it has no certificate authority", file)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: authorities, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	return cluster.Server, &http.Client{Transport: transport}, nil
}

// StatusError is the error of a request that the cluster refused.
type StatusError struct {
	// Code is the HTTP status code. Reason and Message are the fields of Kubernetes' Status.
	Code            int
	Reason, Message string
}

func (e *StatusError) Error() string { return e.Message }

// maxStatus is how much of an error's body is read at most, in bytes.
const maxStatus = 1 << 20

// send sends a request to the API server. The caller closes the body of the response.
func (c *Cluster) send(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	address := c.URL + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, */*;q=0.5")
	switch {
	case json.Valid(body):
		req.Header.Set("Content-Type", "application/json")
	case body != nil:
		req.Header.Set("Content-Type", "application/yaml")
	}
	res, err := c.http.Do(req)
	if err != nil {
		select {
		case <-c.done:
			return nil, c.ended()
		default:
			return nil, err
		}
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxStatus))
	if err != nil {
		return nil, err
	}
	status := StatusError{Code: res.StatusCode}
	if err := json.Unmarshal(data, &status); err != nil || status.Message == "" {
		status.Message = fmt.Sprintf("%s: %s", res.Status, bytes.TrimSpace(data))
	}
	status.Code = res.StatusCode
	return nil, &status
}

// ask sends a request and decodes the response.
func (c *Cluster) ask(ctx context.Context, method, path string, query url.Values, body []byte, into any) error {
	res, err := c.send(ctx, method, path, query, body)
	if err == nil {
		err = json.NewDecoder(res.Body).Decode(into)
		err = errors.Join(err, res.Body.Close())
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}
