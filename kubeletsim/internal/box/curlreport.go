package box

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// curlReport has the known values of the last transfer.
type curlReport struct {
	status               int
	address, own         string
	port, ownPort        uint16
	size, sent           int
	url, given, message  string
	contentType, file    string
	code                 int
	redirects, connects  int
	number               int
	method, redirect     string
	header               http.Header
	headers, headerBytes int
	requestBytes         int
	// named, connected, secured, asked, begun and total are times since the beginning of the transfer.
	named, connected, secured, asked, begun, total, redirecting time.Duration
	// untrusted is the result of the check of a certificate, in OpenSSL's numbers.
	untrusted int
}

// variable is a value of -w: a text, or a number as it is shown.
type variable struct {
	name, value string
	text        bool
}

// variables returns the values of -w, in the order of %{json}.
func (r *curlReport) variables() []variable {
	number := func(name string, n int) variable { return variable{name: name, value: strconv.Itoa(n)} }
	text := func(name, value string) variable { return variable{name, value, true} }
	span := func(name string, d time.Duration) variable {
		return variable{name: name, value: fmt.Sprintf("%.6f", d.Seconds())}
	}
	scheme := "http"
	if u, err := url.Parse(r.url); err == nil && u.Scheme != "" {
		scheme = u.Scheme
	}
	version := "1.1"
	if r.status == 0 {
		version = "0"
	}
	speed, upload := 0, 0
	if s := r.total.Seconds(); s > 0 {
		speed, upload = int(float64(r.size)/s), int(float64(r.sent)/s)
	}
	return []variable{
		text("content_type", r.contentType), text("errormsg", r.message), number("exitcode", r.code), text("filename_effective", r.file), text("ftp_entry_path", ""), number("http_code", r.status), number("http_connect", 0),
		text("http_version", version), text("local_ip", r.own), number("local_port", int(r.ownPort)), text("method", r.method), number("num_certs", 0), number("num_connects", r.connects), number("num_headers", r.headers),
		number("num_redirects", r.redirects), number("num_retries", 0), number("proxy_ssl_verify_result", 0), text("redirect_url", r.redirect), text("referer", ""), text("remote_ip", r.address), number("remote_port", int(r.port)),
		number("response_code", r.status), text("scheme", scheme), number("size_download", r.size), number("size_header", r.headerBytes), number("size_request", r.requestBytes), number("size_upload", r.sent),
		number("speed_download", speed), number("speed_upload", upload), number("ssl_verify_result", r.untrusted), span("time_appconnect", r.secured), span("time_connect", r.connected), span("time_namelookup", r.named),
		span("time_pretransfer", r.asked), span("time_redirect", r.redirecting), span("time_starttransfer", r.begun), span("time_total", r.total), text("url", r.given), text("url_effective", r.url), number("urlnum", r.number),
	}
}

// json returns all values.
func (r *curlReport) json() string {
	var b strings.Builder
	separator := "{"
	for _, v := range r.variables() {
		value := v.value
		if v.text && value == "" {
			value = "null"
		} else if v.text {
			quoted, _ := json.Marshal(value) // texts can be encoded
			value = string(quoted)
		}
		b.WriteString(separator + strconv.Quote(v.name) + ":" + value)
		separator = ","
	}
	return b.String() + `,"curl_version":"lib` + curlAgent + `"}`
}

// value returns what -w shows for the name of a variable.
func (r *curlReport) value(name string) (text string, ok bool) {
	switch name {
	case "json":
		return r.json(), true
	case "http_code", "response_code", "http_connect":
		code := r.status
		if name == "http_connect" {
			code = 0
		}
		return fmt.Sprintf("%03d", code), true
	}
	for _, v := range r.variables() {
		if v.name == name {
			return v.value, true
		}
	}
	return "", false
}

// writeOut writes what -w says.
func (c *curling) writeOut(ctx context.Context) {
	format, given := c.flags["write-out"]
	if !given {
		return
	}
	if name, isFile := strings.CutPrefix(format, "@"); isFile {
		data, err := c.readFile(ctx, name)
		if err != nil {
			return
		}
		format = string(data)
	}
	out := c.out
	put := func(text string) { _, _ = out.Write([]byte(text)) } // the program ends after it
	for format != "" {
		at := strings.IndexAny(format, `%\`)
		if at < 0 || at+1 == len(format) {
			put(format)
			return
		}
		put(format[:at])
		format = format[at:]
		if format[0] == '\\' {
			put(strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t").Replace(format[:2]))
			format = format[2:]
			continue
		}
		inside, rest, closed := strings.Cut(format, "}")
		name, isVariable := strings.CutPrefix(inside, "%{")
		header, isHeader := strings.CutPrefix(inside, "%header{")
		switch {
		case closed && isHeader:
			put(c.last.header.Get(header))
		case !closed || !isVariable:
			size := 2
			if !strings.HasPrefix(format, "%%") {
				put(format[:2])
			} else {
				put("%")
			}
			format = format[size:]
			continue
		case name == "stdout":
			out = c.out
		case name == "stderr":
			out = c.err
		case name == "onerror":
			if c.last.code == 0 {
				return
			}
		default:
			text, ok := c.last.value(name)
			if !ok {
				_, _ = fmt.Fprintf(c.err, "curl: unknown --write-out variable: '%s'\n", name)
			}
			put(text)
		}
		format = rest
	}
}
