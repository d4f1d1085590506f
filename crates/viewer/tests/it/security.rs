//! Who is answered, and with what: bytes on a socket, as any program and any page on the machine can send them.

use crate::client::{Place, serve};

#[test]
fn nobody_without_the_address_learns_anything() {
    serve(|place| {
        let Place { host, token } = place;
        let wrong = "0".repeat(token.len());
        let check = |request: String, expected: u16| {
            let answer = place.send(&request);
            assert_eq!(answer.status, expected, "{request}");
            assert_eq!(answer.body, "", "{request}");
            assert!(
                !answer.head.contains("heapscribe") && !answer.head.contains("access-control"),
                "{answer:?}"
            );
        };
        for path in [
            "/",
            "/api/summary",
            &format!("/{wrong}/"),
            &format!("/{token}"),
            &format!("/{wrong}/api/summary"),
        ] {
            check(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"), 404);
        }
        let page = format!("/{token}/");
        for foreign in ["evil.example", "127.0.0.1", "127.0.0.1:1", "[::1]:80"] {
            check(format!("GET {page} HTTP/1.1\r\nHost: {foreign}\r\n\r\n"), 403);
        }
        check(format!("GET {page} HTTP/1.1\r\n\r\n"), 403);
        check(format!("GET {page} HTTP/1.0\r\n\r\n"), 403);
        for origin in ["null", "http://evil.example", "https://127.0.0.1"] {
            check(format!("GET {page} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n\r\n"), 403);
        }
        check(format!("OPTIONS {page} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.example\r\n\r\n"), 403);
        check(format!("POST {page} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"), 405);
        check(format!("GET {page} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\n\r\nbody"), 400);
        check(format!("GET {page}../../etc/passwd HTTP/1.1\r\nHost: {host}\r\n\r\n"), 404);
        check("nothing of HTTP\r\n\r\n".to_owned(), 400);
        check(format!("GET {page} HTTP/1.1\r\nHost: {host}\r\nx: {}\r\n\r\n", "y".repeat(1 << 14)), 431);
    });
}

#[test]
fn the_browser_with_the_address_gets_a_page_that_runs_nothing_else() {
    serve(|place| {
        let page = place.get("");
        assert_eq!(page.status, 200);
        for header in [
            "content-type: text/html; charset=utf-8",
            "content-security-policy: default-src 'none'; script-src 'self';",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(page.head.contains(header), "{header}: {}", page.head);
        }
        assert!(
            !page.head.contains("unsafe-inline") && !page.head.contains("access-control"),
            "{}",
            page.head
        );
        assert!(page.body.contains("<noscript>"), "{}", page.body);
        let Place { host, token } = place;
        let head = place.send(&format!("HEAD /{token}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!((head.status, head.body.as_str()), (200, ""));
        let ours = format!("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\r\n");
        assert_eq!(place.send(&ours).status, 200);
        // All that the page names is there, and is here.
        for part in
            page.body.split(['"', '\'']).filter(|part| part.ends_with(".js") || part.ends_with(".css"))
        {
            assert_eq!(place.get(part).status, 200, "{part}");
        }
    });
}

#[test]
fn a_client_that_says_nothing_does_not_keep_the_server_from_ending() {
    serve(|place| {
        // It is open while the server is stopped, which closes it.
        std::mem::forget(std::net::TcpStream::connect(&place.host).unwrap());
        assert_eq!(place.get("").status, 200);
    });
}
