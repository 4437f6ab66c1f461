// Package deflate makes gzip streams of parts that are compressed separately, so that a part can
// be kept and be used in many streams. A part refers to no bytes before it and ends at a full
// byte, as after a flush (RFC 1951, 3.2.4); the checksum of a stream (RFC 1952) follows from its
// parts' checksums.
//
//minikcm:pure
package deflate
