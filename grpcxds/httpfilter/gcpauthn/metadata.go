package gcpauthn

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// maxToken limits the response of the metadata server.
const maxToken = 64 << 10

// maxHost limits the host of the metadata server: the longest name in DNS and a port.
const maxHost = 253 + len(":65535")

// hostVariable names the metadata server instead of metadata.google.internal, as in the libraries of Google Cloud.
const hostVariable = "GCE_METADATA_HOST"

// environmentServer returns the source that asks the metadata server that the environment of the process names.
func environmentServer() TokenSource {
	host := cmp.Or(os.Getenv(hostVariable), "metadata.google.internal")
	base := "http://" + host
	if u, err := url.Parse(base); err != nil || u.Host != host || u.Hostname() == "" || len(host) > maxHost {
		err := fmt.Errorf("gcpauthn: %s = %s; must be a host, or a host and a port, of at most %d bytes", hostVariable, printable.Quote(host, printable.Short), maxHost)
		return func(context.Context, string) (Token, error) { return Token{}, err }
	}
	return metadataServer(base)
}

// metadataServer returns the source that asks the metadata server of a virtual machine.
func metadataServer(base string) TokenSource {
	// Connections are not kept, so that nothing has to be closed. Proxies are for other networks.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return func(ctx context.Context, audience string) (Token, error) {
		address := base + "/computeMetadata/v1/instance/service-accounts/default/identity?audience=" + url.QueryEscape(audience)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody) //nolint:gosec // the environment of the process names the host
		if err != nil {
			return Token{}, err
		}
		req.Header.Set("Metadata-Flavor", "Google")
		resp, err := client.Do(req) //nolint:gosec // as above
		if err != nil {
			return Token{}, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return Token{}, status.Error(codeOf(resp.StatusCode), "the metadata server returned "+resp.Status)
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxToken+1))
		if err != nil {
			return Token{}, err
		}
		return parseToken(body)
	}
}

// codeOf returns the status of calls for an HTTP status (A83).
func codeOf(code int) codes.Code {
	switch code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return codes.Unavailable
	default:
		return codes.Unauthenticated
	}
}

// parseToken reads the expiry of a JWT. The servers of calls validate the rest.
func parseToken(body []byte) (Token, error) {
	if len(body) > maxToken {
		return Token{}, status.Errorf(codes.Unauthenticated, "the token has more than %d bytes", maxToken)
	}
	value := strings.TrimSpace(string(body))
	exp, err := expiry(value)
	if err != nil {
		return Token{}, status.Error(codes.Unauthenticated, "the token is not a valid JWT: "+err.Error())
	}
	return Token{Value: value, Expiry: exp}, nil
}

func expiry(token string) (time.Time, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, fmt.Errorf("it has %d parts; must have 3", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, err
	}
	var claims struct {
		Expiry *float64 `json:"exp"`
	}
	switch err := json.Unmarshal(payload, &claims); {
	case err != nil:
		return time.Time{}, err
	case claims.Expiry == nil || *claims.Expiry <= 0 || *claims.Expiry > 1<<40:
		return time.Time{}, errors.New("exp is not a time")
	}
	return time.Unix(int64(*claims.Expiry), 0), nil
}
