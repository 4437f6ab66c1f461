package faultapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	yamlv3 "go.yaml.in/yaml/v3"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/scenarios/fault"
)

// infoPath is the path at which a minikcm cluster describes itself.
const infoPath = "/minikcm/v1"

// maxLine caps what is read of one fault, in bytes.
const maxLine = 4 << 20

// Client injects faults into a running cluster of minikcm.
type Client struct {
	rest rest.Interface
	host string
}

// ForeignError says that a cluster is not one of minikcm, or does not serve faults.
type ForeignError struct {
	Host string
	// Info is the cluster's description of itself; nil if it is not a minikcm cluster.
	Info *minikcm.Info
}

func (e *ForeignError) Error() string {
	if e.Info == nil {
		return fmt.Sprintf("the cluster at %s is none of minikcm's: faults can be injected into a cluster that \"minikcm up\" or \"minikcm exec\" runs", e.Host)
	}
	return fmt.Sprintf("the cluster at %s (minikcm %s) has no API for faults: run it with a newer \"minikcm up\" or \"minikcm exec\"", e.Host, e.Info.Version)
}

// UnknownError says that a request names a fault that the cluster does not have.
type UnknownError struct{ doing string }

func (e *UnknownError) Error() string {
	return e.doing + ": there is no such fault, or not any more; \"minikcm fault list\" shows those that there are"
}

// NewClient returns a client of the cluster that a configuration reaches. It makes no
// request.
func NewClient(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.GroupVersion = &schema.GroupVersion{Version: "v1"} // of errors
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster at %s: %w", config.Host, err)
	}
	return &Client{rest: client, host: config.Host}, nil
}

// Info reads how the cluster describes itself. The error is a *ForeignError if the cluster is
// not one of minikcm.
func (c *Client) Info(ctx context.Context) (*minikcm.Info, error) {
	data, err := raw(ctx, c.rest.Get().AbsPath(infoPath))
	// A server that guards all paths forbids also those that it does not serve.
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, &ForeignError{Host: c.host}
	}
	if err != nil {
		return nil, fmt.Errorf("asking the cluster at %s what it is: %w", c.host, err)
	}
	info := &minikcm.Info{}
	if err := json.Unmarshal(data, info); err != nil || info.Version == "" {
		return nil, &ForeignError{Host: c.host}
	}
	return info, nil
}

// Inject returns when the server has accepted a fault, which it injects afterwards.
func (c *Client) Inject(ctx context.Context, f *fault.Fault) (*Injection, error) {
	document, err := encode(f)
	if err != nil {
		return nil, err
	}
	injection := &Injection{}
	data, err := raw(ctx, c.rest.Post().AbsPath(Path).Body(document))
	return injection, c.decode(ctx, "injecting the fault ("+f.Title()+")", data, err, injection)
}

// Hold injects a fault, calls each with it now and at each change, and returns when the
// fault is done. When ctx ends, Hold takes the fault back and then returns the cause. The
// server also takes the fault back if each returns an error, which Hold returns, and if the
// connection is lost. The seed determines what the fault hits; 0 stands for the cluster's.
func (c *Client) Hold(ctx context.Context, f *fault.Fault, seed uint64, each func(*Injection) error) (*Injection, error) {
	document, err := encode(f)
	if err != nil {
		return nil, err
	}
	request := c.rest.Post().AbsPath(Path).Body(document).Param("follow", "true")
	if seed != 0 {
		request.Param("seed", strconv.FormatUint(seed, 10))
	}
	connection, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	id, released := make(chan string, 1), make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		defer close(released)
		c.release(connection, id, func() { cut(context.Cause(ctx)) })
	})
	last, err := c.follow(connection, "injecting the fault ("+f.Title()+")", request, func(i *Injection) error {
		select {
		case id <- i.ID:
		default: // it is known
		}
		return each(i)
	})
	cut(nil)
	if !unwatch() {
		<-released
	}
	if cause := context.Cause(ctx); cause != nil && (err != nil || last.State == Stopped) {
		return last, cause
	}
	return last, err
}

const (
	// releaseTimeout is the time, by the machine's clock, that the server may need to take a fault
	// back before the connection is cut. The server then takes it back by itself.
	releaseTimeout = 30 * time.Second
	// answerTimeout bounds the time that the server may need to accept a fault that the caller no
	// longer wants.
	answerTimeout = 5 * time.Second
)

// release takes back the fault that a connection holds, which ends the connection.
func (c *Client) release(connection context.Context, id <-chan string, cut func()) {
	answered, cancel := context.WithTimeout(connection, answerTimeout)
	defer cancel()
	select {
	case id := <-id:
		limited, cancel := context.WithTimeout(connection, releaseTimeout)
		defer cancel()
		if _, err := c.Stop(limited, id); err == nil {
			return
		}
	case <-answered.Done():
	}
	cut()
}

// Follow calls each with a fault now and at each change, until it is done, each returns an
// error, or ctx ends. It returns the newest state that it has seen.
func (c *Client) Follow(ctx context.Context, id string, each func(*Injection) error) (*Injection, error) {
	return c.follow(ctx, "following the fault "+id, c.rest.Get().AbsPath(Path, url.PathEscape(id)).Param("follow", "true"), each)
}

// List returns the faults that are not done and the newest of those that are, oldest
// first.
func (c *Client) List(ctx context.Context) (*List, error) {
	list := &List{}
	data, err := raw(ctx, c.rest.Get().AbsPath(Path))
	return list, c.decode(ctx, "listing the faults", data, err, list)
}

// Stop takes a fault back and returns it when that is done.
func (c *Client) Stop(ctx context.Context, id string) (*Injection, error) {
	injection := &Injection{}
	data, err := raw(ctx, c.rest.Delete().AbsPath(Path, url.PathEscape(id)))
	return injection, c.decode(ctx, "stopping the fault "+id, data, err, injection)
}

func encode(f *fault.Fault) ([]byte, error) {
	text, err := yamlv3.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encoding the fault: %w", err)
	}
	return yaml.YAMLToJSON(text)
}

// raw returns the body of an answer, or the Status in it as the error.
func raw(ctx context.Context, request *rest.Request) ([]byte, error) {
	result := request.Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// decode reads an answer, or returns why there is none.
func (c *Client) decode(ctx context.Context, doing string, data []byte, err error, into any) error {
	if err == nil {
		if err = json.Unmarshal(data, into); err == nil {
			return nil
		}
	}
	return c.explain(ctx, doing, err)
}

// explain returns the error of a request, or that the cluster has no API of faults.
func (c *Client) explain(ctx context.Context, doing string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var status apierrors.APIStatus
	known := errors.As(err, &status)
	if !known || status.Status().Code != http.StatusNotFound && status.Status().Code != http.StatusMethodNotAllowed {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if details := status.Status().Details; details != nil && details.Kind == Feature && details.Group == kindOfFault.Group {
		return &UnknownError{doing}
	}
	info, infoErr := c.Info(ctx)
	if infoErr != nil {
		return infoErr
	}
	return &ForeignError{Host: c.host, Info: info}
}

// follow reads the lines of a stream.
func (c *Client) follow(ctx context.Context, doing string, request *rest.Request, each func(*Injection) error) (*Injection, error) {
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, c.explain(ctx, doing, err)
	}
	defer body.Close() // it is only read
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	var last *Injection
	for lines.Scan() {
		next := &Injection{}
		if err := json.Unmarshal(lines.Bytes(), next); err != nil {
			return last, fmt.Errorf("%s: reading what the server says: %w", doing, err)
		}
		last = next
		if err := each(next); err != nil {
			return last, err
		}
		if next.State.Done() {
			return last, nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return last, cause
	}
	err = lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return last, fmt.Errorf("%s: the connection to %s ended before the fault: %w", doing, c.host, err)
}
