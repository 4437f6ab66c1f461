package relay

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// forwarding are the headers that say for whom a request is forwarded.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// HTTP returns a handler that passes requests on to a process. The process gets the Host that the client asks for, and the headers that
// say for whom the request is forwarded as they are. failed answers a request that gets no response.
func HTTP(to *url.URL, transport http.RoundTripper, failed func(w http.ResponseWriter, r *http.Request, err error)) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(to)
			out.Out.Host = out.In.Host
			for _, name := range forwarding { // a proxy that is not the server's would remove them
				if values, ok := out.In.Header[name]; ok {
					out.Out.Header[name] = values
				}
			}
		},
		Transport: transport, ErrorLog: log.New(io.Discard, "", 0), ErrorHandler: failed,
	}
}
