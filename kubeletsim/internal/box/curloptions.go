package box

import (
	"fmt"
	"strconv"
	"strings"
)

// The long options of curl 8, with their letters after a colon: those without a value, and those with one.
const (
	curlSwitches = "alpn anyauth append:a basic buffer ca-native cert-status clobber compressed compressed-ssh create-dirs crlf digest disable:q disable-eprt disable-epsv disallow-username-in-url doh-cert-status " +
		"doh-insecure dump-ca-embed eprt epsv fail:f fail-early fail-with-body false-start form-escape ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-control get:G globoff:g haproxy-protocol " +
		"head:I help:h http0.9 http1.0:0 http1.1 http2 http2-prior-knowledge http3 http3-only ignore-content-length include:i insecure:k ipv4:4 ipv6:6 junk-session-cookies:j keepalive list-only:l location:L " +
		"location-trusted mail-rcpt-allowfails manual:M metalink mptcp negotiate netrc:n netrc-optional next:: no-buffer:N npn ntlm ntlm-wb parallel:Z parallel-immediate path-as-is post301 post302 post303 progress-bar:# " +
		"progress-meter proxy-anyauth proxy-basic proxy-ca-native proxy-digest proxy-http2 proxy-insecure proxy-negotiate proxy-ntlm proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-tlsv1 proxytunnel:p raw " +
		"remote-header-name:J remote-name:O remote-name-all remote-time:R remove-on-error retry-all-errors retry-connrefused sasl-ir sessionid show-error:S show-headers silent:s skip-existing socks5-basic socks5-gssapi " +
		"socks5-gssapi-nec ssl ssl-allow-beast ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort sslv2:2 sslv3:3 styled-output suppress-connect-headers tcp-fastopen tcp-nodelay tftp-no-options " +
		"tls-earlydata tlsv1:1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace-ids trace-time use-ascii:B verbose:v version:V xattr"
	curlValued = "abstract-unix-socket alt-svc aws-sigv4 cacert capath cert:E cert-type ciphers config:K connect-timeout connect-to continue-at:C cookie:b cookie-jar:c create-file-mode crlfile curves data:d data-ascii " +
		"data-binary data-raw data-urlencode delegation dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url dump-header:D ech egd-file engine etag-compare etag-save expect100-timeout form:F form-string " +
		"ftp-account ftp-alternative-to-user ftp-method ftp-port:P ftp-ssl-ccc-mode happy-eyeballs-timeout-ms haproxy-clientip header:H hostpubmd5 hostpubsha256 hsts interface ip-tos ipfs-gateway json keepalive-cnt " +
		"keepalive-time key key-type krb libcurl limit-rate local-port login-options mail-auth mail-from mail-rcpt max-filesize max-redirs max-time:m netrc-file noproxy oauth2-bearer output:o output-dir parallel-max " +
		"pass pinnedpubkey preproxy proto proto-default proto-redir proxy:x proxy-cacert proxy-capath proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type proxy-pass " +
		"proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword proxy-tlsuser proxy-user:U proxy1.0 pubkey quote:Q random-file range:r rate referer:e request:X request-target " +
		"resolve retry retry-delay retry-max-time sasl-authzid service-name sigalgs socks4 socks4a socks5 socks5-gssapi-service socks5-hostname speed-limit:Y speed-time:y stderr telnet-option:t tftp-blksize time-cond:z " +
		"tls-max tls13-ciphers tlsauthtype tlspassword tlsuser trace trace-ascii trace-config unix-socket upload-file:T upload-flags url url-query user:u user-agent:A variable vlan-priority write-out:w"
	// curlKnown are the options that are simulated, and those that change nothing here.
	curlKnown = " alpn basic buffer compressed create-dirs disable fail fail-with-body get globoff head http0.9 http1.0 http1.1 http2 http2-prior-knowledge include insecure ipv4 ipv6 keepalive location location-trusted no-buffer npn " +
		"progress-bar progress-meter remote-name retry-all-errors retry-connrefused sessionid show-error show-headers silent styled-output tcp-nodelay tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 trace-time verbose " +
		"cacert capath cert cert-type connect-timeout connect-to cookie cookie-jar data data-ascii data-binary data-raw data-urlencode dump-header expect100-timeout form form-string header interface json keepalive-time key key-type " +
		"max-redirs max-time noproxy oauth2-bearer output range referer request resolve retry retry-delay retry-max-time tls-max upload-file url url-query user user-agent write-out "
)

// curlOption returns the name of an option, whether it takes a value, and whether there is one with that name or letter.
func curlOption(name, letter string) (long string, takes, ok bool) {
	for i, all := range []string{curlSwitches, curlValued} {
		for word := range strings.FieldsSeq(all) {
			long, short, _ := strings.Cut(word, ":")
			if long == name || letter != "" && short == letter {
				return long, i == 1, true
			}
		}
	}
	return "", false, false
}

// usage reports an option that is used in a wrong way.
func (c *curling) usage(option, why string) (code int, ok bool) {
	_, _ = fmt.Fprintf(c.err, "curl: option %s: %s\ncurl: try 'curl --help' or 'curl --manual' for more information\n", option, why)
	return curlNoURL, false
}

// warn writes a warning, in lines as curl breaks them, unless -s silences it.
func (c *curling) warn(lines ...string) {
	for _, line := range lines {
		if !c.has("silent") {
			_, _ = fmt.Fprintf(c.err, "Warning: %s\n", line)
		}
	}
}

// has reports whether an option was given.
func (c *curling) has(name string) bool {
	_, given := c.flags[name]
	return given
}

// options reads the arguments. Not ok: they are wrong, or an option is not simulated, and code is the program's.
func (c *curling) options() (code int, ok bool) {
	c.flags = map[string]string{}
	args, ended := c.args[1:], false
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		value := func() (string, bool) {
			if len(args) == 0 {
				return "", false
			}
			next := args[0]
			args = args[1:]
			return next, true
		}
		switch {
		case ended || len(arg) < 2 || arg[0] != '-':
			c.urls = append(c.urls, arg)
		case arg == "--":
			ended = true
		case strings.HasPrefix(arg, "--"):
			code, ok = c.longOption(arg, value)
		default:
			code, ok = c.shortOptions(arg, value)
		}
		if code != 0 {
			return code, ok
		}
	}
	if c.other != "" {
		return c.unsupported(c.other), false
	}
	return c.compatible()
}

func (c *curling) longOption(arg string, value func() (string, bool)) (code int, ok bool) {
	name, takes, known := curlOption(arg[2:], "")
	if positive, isOff := strings.CutPrefix(arg[2:], "no-"); !known && isOff {
		if name, takes, known = curlOption(positive, ""); known && !takes {
			delete(c.flags, name)
			return 0, true
		}
		known = false
	}
	if !known {
		return c.usage(arg, "is unknown")
	}
	text, given := "", true
	if takes {
		text, given = value()
	}
	if !given {
		return c.usage(arg, "requires parameter")
	}
	return c.set(name, text, arg)
}

func (c *curling) shortOptions(arg string, value func() (string, bool)) (code int, ok bool) {
	for i := 1; i < len(arg); i++ {
		name, takes, known := curlOption("", arg[i:i+1])
		text, given := arg[i+1:], true
		switch {
		case !known:
			return c.usage(arg, "is unknown")
		case takes && text == "":
			text, given = value()
		}
		if !given {
			return c.usage(arg, "requires parameter")
		}
		if code, ok = c.set(name, text, "-"+arg[i:i+1]); code != 0 || takes {
			return code, ok
		}
	}
	return 0, true
}

// set notes an option. given is how it was written.
func (c *curling) set(name, value, given string) (code int, ok bool) {
	switch name {
	case "max-time", "connect-timeout", "retry", "retry-delay", "retry-max-time", "max-redirs":
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return c.usage(given, "expected a proper numerical parameter")
		}
	case "header":
		c.headers = append(c.headers, value)
	case "data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "json":
		c.data = append(c.data, curlData{strings.TrimSuffix(name, "-ascii"), value})
	case "url-query":
		c.query = append(c.query, value)
	case "form", "form-string":
		if part, _, isPart := strings.Cut(value, "="); !isPart || part == "" && name == "form" {
			c.warn("Illegally formatted input field!")
			return c.usage(given, "is badly used here")
		}
		c.form = append(c.form, curlData{name, value})
	case "cookie":
		c.cookies = append(c.cookies, value)
	case "resolve":
		c.resolves = append(c.resolves, value)
	case "connect-to":
		c.connectTos = append(c.connectTos, value)
	case "output", "remote-name":
		c.outputs = append(c.outputs, curlOutput{value, name == "remote-name"})
	case "url":
		c.urls = append(c.urls, value)
	case "show-headers":
		name = "include"
	case "fail-with-body":
		name = "fail"
	case "retry-all-errors":
		name = "retry-connrefused"
	default:
		if c.other == "" && !strings.Contains(curlKnown, " "+name+" ") {
			c.other = given
		}
	}
	c.flags[name] = value
	return 0, true
}

// compatible checks options that exclude each other.
func (c *curling) compatible() (code int, ok bool) {
	const asked = "You can only select one HTTP request method! You asked for both "
	post, get := len(c.data) > 0 && !c.has("get"), c.has("head") && !c.has("get")
	switch {
	case len(c.form) > 0 && post:
		c.warn(asked+"POST ", "(-d, --data) and multipart formpost (-F, --form).")
	case len(c.form) > 0 && c.has("head"):
		c.warn(asked, "multipart formpost (-F, --form) and HEAD (-I, --head).")
		return c.usage("-F", "is badly used here")
	case post && get:
		c.warn(asked+"POST ", "(-d, --data) and HEAD (-I, --head).")
	default:
		c.limit = seconds(c.flags["max-time"])
		return 0, true
	}
	return curlNoURL, false
}
