<?xml version="1.0"?>
<!-- Sorts, groups and rewrites the generated items. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="html"/>
  <xsl:key name="by-kind" match="item" use="@kind"/>
  <xsl:template match="/items">
    <html>
      <xsl:for-each select="item[generate-id() = generate-id(key('by-kind', @kind)[1])]">
        <xsl:sort select="@kind"/>
        <h1><xsl:value-of select="@kind"/>: <xsl:value-of select="count(key('by-kind', @kind))"/></h1>
        <table>
          <xsl:apply-templates select="key('by-kind', @kind)"><xsl:sort select="price" data-type="number"/></xsl:apply-templates>
        </table>
      </xsl:for-each>
    </html>
  </xsl:template>
  <xsl:template match="item">
    <tr id="{concat('i', @id)}">
      <td><xsl:value-of select="translate(name, 'abcdefgh', 'ABCDEFGH')"/></td>
      <td><xsl:value-of select="format-number(price * 1.19, '0.00')"/></td>
      <xsl:for-each select="tag"><td><xsl:value-of select="concat(substring-before(., '-'), '/', substring-after(., '-'))"/></td></xsl:for-each>
    </tr>
  </xsl:template>
</xsl:stylesheet>
