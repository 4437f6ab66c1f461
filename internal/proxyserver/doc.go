// Package proxyserver serves proxies: HTTP with absolute URLs, CONNECT, and SOCKS5 (RFC 1928, RFC 1929) on one port. Its user decides
// where connections lead. Connections bounds how many a process serves, and Server passes connections to net/http.
package proxyserver
