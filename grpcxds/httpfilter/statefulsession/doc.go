// Package statefulsession runs the filter of clients that keeps the calls of a session on one endpoint (gRFCs A55, A60,
// A61, A75). Package plugins/httpfilter/statefulsession reads and validates its configurations.
//
// A session is a cookie. The first call of a session has none, and goes to an endpoint that the LB policy chooses. The
// filter adds a set-cookie header with the endpoint to the response. The program sends the cookie with the next calls of
// the session, in the metadata "cookie", and the channel sends them to the same endpoint. If that endpoint is gone, the
// LB policy chooses another one, and the response has a new cookie.
//
// A [Session] does this for programs that do not handle cookies.
package statefulsession
