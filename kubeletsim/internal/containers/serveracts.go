package containers

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/box"
	"minikcm.dev/minikcm/kubeletsim/internal/servers"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// call makes the calls of a route, one after the other. A call without an answer has an error, which expressions see.
func (s *serving) call(ctx context.Context, calls []servers.Call) error {
	if len(calls) > 0 {
		s.in.Calls = map[string]*servers.Reply{}
	}
	for i := range calls {
		c := &calls[i]
		request := &box.Call{Method: c.Method, Header: http.Header{}, Limit: c.Timeout}
		var err error
		if request.URL, err = c.URL.Text(s.in); err != nil {
			return err
		}
		if c.Body != nil {
			text, err := c.Body.Text(s.in)
			if err != nil {
				return err
			}
			request.Body = []byte(text)
		}
		headers, err := c.Headers(s.in)
		if err != nil {
			return err
		}
		for _, h := range headers {
			request.Header.Add(h.Name, h.Value)
		}
		reply := &servers.Reply{}
		answered, err := s.actor.Call(ctx, request)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			reply.Error = err.Error()
		default:
			reply.Status, reply.Body, reply.Headers = int64(answered.Status), strings.ReplaceAll(string(answered.Body), unknown.Line, ""), map[string]string{}
			for name, values := range answered.Header {
				reply.Headers[strings.ToLower(name)] = values[0]
			}
		}
		s.in.Calls[c.Name] = reply
	}
	s.in.Now = s.runtime.opts.Clock.Now()
	return nil
}

// command runs the command of a route, with the request in its environment and as its input, as CGI has it (RFC 3875).
func (s *serving) command(ctx context.Context, route *servers.Route) error {
	args, err := route.Command.Args(s.in)
	if err != nil {
		return err
	}
	q := s.in.Request
	_, query, _ := strings.Cut(q.URI, "?")
	env := map[string]string{
		"GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1", "SERVER_SOFTWARE": "minikcm", "REQUEST_METHOD": q.Method, "REQUEST_URI": q.URI, "SCRIPT_NAME": "", "PATH_INFO": q.Path,
		"QUERY_STRING": query, "REMOTE_ADDR": q.Peer, "REMOTE_PORT": strconv.FormatInt(q.PeerPort, 10), "SERVER_PORT": strconv.FormatInt(q.Port, 10), "SERVER_NAME": strings.Split(q.Host, ":")[0],
		"CONTENT_LENGTH": strconv.Itoa(len(s.body)),
	}
	for name, value := range q.Headers {
		variable := strings.ReplaceAll(strings.ToUpper(name), "-", "_")
		switch variable {
		case "PROXY": // httpoxy
		case "CONTENT_TYPE":
			env[variable] = value
		default:
			env["HTTP_"+variable] = value
		}
	}
	for name, value := range q.Vars {
		env["PATH_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = value
	}
	ran, err := s.actor.Run(ctx, args, env, s.body, route.Command.Timeout)
	if err != nil {
		return err
	}
	s.in.Run, s.in.Now = &servers.Output{Output: ran.Output, Errors: ran.Errors, Code: int64(ran.Code)}, s.runtime.opts.Clock.Now()
	return nil
}

// fromOutput completes an answer by what the route's command has written: its body, and with CGI its status and headers.
func (s *serving) fromOutput(c *servers.Command, a *servers.Answer) {
	failed := s.in.Run.Code != 0 && a.Status == 0
	if failed {
		a.Status = http.StatusInternalServerError
	}
	if a.HasBody {
		return
	}
	if failed && s.in.Run.Output == "" { // the answer says why
		a.HasBody, a.Body = true, fmt.Sprintf("run: exit code %d\n%s", s.in.Run.Code, s.in.Run.Errors)
		return
	}
	a.HasBody, a.Body = true, s.in.Run.Output
	if !c.CGI {
		return
	}
	reader := bufio.NewReader(bytes.NewReader([]byte(s.in.Run.Output)))
	headers, err := textproto.NewReader(reader).ReadMIMEHeader()
	if err != nil {
		return // it has no headers
	}
	rest := &bytes.Buffer{}
	_, _ = rest.ReadFrom(reader) // from memory
	a.Body = rest.String()
	if status, _, _ := strings.Cut(headers.Get("Status"), " "); status != "" {
		if n, err := strconv.Atoi(status); err == nil && n >= 200 && n <= 599 {
			a.Status = n
		}
	} else if headers.Get("Location") != "" && a.Status == 0 {
		a.Status = http.StatusFound
	}
	headers.Del("Status")
	for _, name := range sortedNames(headers) {
		for _, value := range headers[name] {
			a.Headers = append(a.Headers, servers.Header{Name: name, Value: value})
		}
	}
}

func sortedNames(headers map[string][]string) []string {
	var names []string
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
